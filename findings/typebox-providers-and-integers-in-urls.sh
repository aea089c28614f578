#!/usr/bin/env bash
# An integer in the query, validated by Fastify's Ajv, by the type provider 5 (TypeBox 0.34) and by 6 (TypeBox 1).
# Guess: the three take the same texts; what is no integer is a 400.
# Seen: both type providers take 1.9 as 1 and "true" as 1. 1e3 is 1,000 with 6 and 1 with 5. An empty text is 0 with 6.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install fastify@5.12.8 typebox@1.4.3 @sinclair/typebox@0.34.52 provider6@npm:@fastify/type-provider-typebox@6.3.0 \
  provider5@npm:@fastify/type-provider-typebox@5.2.0
cat > "$folder/app.mjs" <<'JS'
import { Type as Type0 } from '@sinclair/typebox'
import fastify from 'fastify'
import { TypeBoxValidatorCompiler as compiler5 } from 'provider5'
import { TypeBoxValidatorCompiler as compiler6 } from 'provider6'
import { Type as Type1 } from 'typebox'

const kinds = {
  Ajv: [undefined, { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }],
  'provider 5': [compiler5, Type0.Object({ id: Type0.Integer() })],
  'provider 6': [compiler6, Type1.Object({ id: Type1.Integer() })]
}
for (const [name, [compiler, querystring]] of Object.entries(kinds)) {
  const app = fastify()
  if (compiler) app.setValidatorCompiler(compiler)
  app.get('/plants', { schema: { querystring } }, async request => request.query.id)
  const outcomes = []
  for (const text of ['12', '1.9', '1e3', 'true', '', '12a']) {
    const response = await app.inject('/plants?id=' + text)
    outcomes.push(`${text || 'nothing'} ${response.statusCode === 200 ? 'is ' + response.body : response.statusCode}`)
  }
  console.log(`${name}: ${outcomes.join(', ')}`)
}
JS
seen=$("$folder/node-24.21.0" "$folder/app.mjs")

compare "Fastify's default; expected: 400 for all but 12 and 1e3" \
  'Ajv: 12 is 12, 1.9 400, 1e3 is 1000, true 400, nothing 400, 12a 400' "$(sed -n 1p <<<"$seen")"
compare 'TypeBox 0.34; expected: the same' \
  'provider 5: 12 is 12, 1.9 is 1, 1e3 is 1, true is 1, nothing 400, 12a 400' "$(sed -n 2p <<<"$seen")"
compare 'TypeBox 1; expected: the same' \
  'provider 6: 12 is 12, 1.9 is 1, 1e3 is 1000, true is 1, nothing is 0, 12a 400' "$(sed -n 3p <<<"$seen")"
report
