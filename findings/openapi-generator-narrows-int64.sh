#!/usr/bin/env bash
# What openapi-generator makes of int64 in two little-used targets, beside one that is exact.
# Guess: a target whose language has 64-bit integers gets them (GDScript's int is one); GraphQL gets Int.
# Seen: GDScript gets float. GraphQL gets Int, which has 32 bits, and optional fields become required ones.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

pypi_install openapi-generator-cli==7.26.0
generate () {
  java -XX:TieredStopAtLevel=1 -jar "$folder"/python/lib/python3*/site-packages/openapi_generator_cli/openapi-generator.jar \
    generate -g "$1" -i "$(dirname "$0")/helpers/plants-openapi.yaml" -o "$folder/$1" >"$folder/$1.log" 2>&1
}
for target in gdscript graphql-schema crystal; do
  generate "$target"
done

compare 'Crystal; expected: Int64' 'property parent : Int64?' \
  "$(grep -m1 -oh 'property parent.*' "$folder"/crystal/src/*/models/plant.cr)"
compare 'GDScript, whose int has 64 bits; expected: int' 'var parent: float' \
  "$(grep -m1 -oh 'var parent: [a-z]*' "$folder"/gdscript/models/Plant.gd)"
compare 'GraphQL, parent and tag are optional; expected: Int and String, both nullable' 'parent: Int! tag: String!' \
  "$(grep -ohE '(parent|tag): .*' "$folder"/graphql-schema/*/model/plant.graphql | tr '\n' ' ' | sed 's/ $//')"
report
