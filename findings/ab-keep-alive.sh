#!/usr/bin/env bash
# ab -k (HTTP/1.0 with keep-alive) against bare node:http and against Fastify, with the same answer.
# Guess: both keep the connection, so ab compares their handling of a request.
# Seen: node:http closes after each answer, unless the handler sets Content-Length itself, as Fastify does.
# So the comparison is one of new connections against kept ones.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

debian_install apache2-utils=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1
npm_install fastify@5.12.8
node_install 24.21.0

cat > "$folder/server.mjs" <<'JS'
import http from 'node:http'
import fastify from 'fastify'

const [, , kind, port] = process.argv
const address = { host: '127.0.0.1', port: Number(port) }
if (kind === 'fastify') {
  const app = fastify()
  app.get('/', async () => 'ok')
  await app.listen(address)
} else {
  http.createServer((request, response) => {
    if (kind === 'length') response.setHeader('Content-Length', 2)
    response.end('ok')
  }).listen(address)
}
JS

for kind in bare length fastify; do
  port=$(free_port)
  start "$folder/$kind.log" "$folder/node-24.21.0" "$folder/server.mjs" "$kind" "$port"
  wait_for_port "$port"
  kept=$("$folder/debian/usr/bin/ab" -q -k -n 20 -c 2 "http://127.0.0.1:$port/" | awk '/^Keep-Alive requests/ { print $NF }')
  case $kind in
    bare) compare 'node:http, response.end("ok"); expected: 20 of 20 requests on kept connections' 0 "$kept" ;;
    length) compare 'node:http with an explicit Content-Length' 20 "$kept" ;;
    fastify) compare 'Fastify' 20 "$kept" ;;
  esac
done
report
