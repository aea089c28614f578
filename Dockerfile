# syntax=docker/dockerfile:1
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build && npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
RUN mkdir /data && chown node:node /data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["node", "-e", "const { PORT, TLS_CERT_FILE } = process.env; require(TLS_CERT_FILE ? 'node:https' : 'node:http').get({ port: PORT, path: '/health/ready', rejectUnauthorized: false, timeout: 4000 }, answer => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1)).on('timeout', () => process.exit(1))"]
# Node hears the signals itself: SIGTERM drains, SIGHUP reads tokens and certificate again.
ENTRYPOINT ["node", "dist/server/main.js"]
CMD ["serve"]
