# syntax=docker/dockerfile:1
# The build runs on the builder's own platform: what it makes has no binaries, and is the same for all.
FROM --platform=$BUILDPLATFORM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build \
 && npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
RUN mkdir /data && chown node:node /data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY docs/deploy/health-check.js ./
USER 1000
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["node", "health-check.js"]
# SIGTERM finishes the pending requests, in up to 25 s: docker run --stop-timeout 30. SIGHUP reads tokens and certificate again.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/service/main.js"]
CMD ["serve"]
