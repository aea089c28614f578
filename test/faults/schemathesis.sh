#!/usr/bin/env bash
# Checks the running service against its own OpenAPI document with Schemathesis (https://schemathesis.io): all checks, and
# all phases that need no second operation. Installs it into its own virtual environment; needs Python 3.10 or later.
#
#   test/faults/schemathesis.sh [examples [options of schemathesis run]]      2,000 examples by default
#
# Starts the service on SQLite, unless SERVICE_URL and ACCESS_TOKEN name a running one.
set -euo pipefail
cd "$(dirname "$0")/../.."

examples=${1:-2000}
venv=${SCHEMATHESIS_VENV:-/tmp/plant-store-schemathesis}
work=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service" || cat "$work/log"; rm -rf "$work"' EXIT

[ -x "$venv/bin/schemathesis" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet schemathesis; }

if [ -z "${SERVICE_URL:-}" ]; then
  npm run --silent build
  ACCESS_TOKEN=a-token-for-schemathesis
  PORT=0 DATA_DIR="$work" ACCESS_TOKENS="$ACCESS_TOKEN" NODE_ENV=production node dist/service/main.js > "$work/log" &
  service=$!
  for _ in $(seq 100); do
    SERVICE_URL=$(sed -n 's/.*ready at \(http:[^"]*\)".*/\1/p' "$work/log")
    [ -n "$SERVICE_URL" ] && break
    sleep 0.1
  done
fi

"$venv/bin/schemathesis" --version
check () {
  "$venv/bin/schemathesis" --config-file test/faults/schemathesis.toml run "$SERVICE_URL/openapi.json" --url "$SERVICE_URL" \
    --header "Authorization: Bearer $ACCESS_TOKEN" \
    --checks all --phases examples,coverage,fuzzing --max-examples "$examples" --continue-on-failure --seed 1 "$@"
}
check --include-path /plants "${@:2}"
# Only /plants responds 405 to other methods: elsewhere the response is 404, as for an unknown path.
check --exclude-path /plants --exclude-checks unsupported_method "${@:2}"
