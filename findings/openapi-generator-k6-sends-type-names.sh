#!/usr/bin/env bash
# The load script for k6 that openapi-generator makes of an operation whose body has an example.
# Guess: the body has the examples, or values that the schema allows.
# Seen: it has the names of the types, as text. Every request of such a load test is refused, and the refusals are what is measured.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

pypi_install openapi-generator-cli==7.26.0
java -XX:TieredStopAtLevel=1 -jar "$folder"/python/lib/python3*/site-packages/openapi_generator_cli/openapi-generator.jar \
  generate -g k6 -i "$(dirname "$0")/helpers/plants-openapi.yaml" -o "$folder/k6" >"$folder/log" 2>&1

compare 'the body; expected: {"id": 9007199254740993, …}' \
  'let body = {"id": "long", "parent": "long", "name": "string", "tag": "string"};' \
  "$(grep -m1 -o 'let body = .*' "$folder/k6/script.js")"
report
