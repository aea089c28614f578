#!/usr/bin/env bash
# Values that are no finite numbers, in prom-client.
# Guess: a histogram takes Infinity into its bucket +Inf; NaN is refused, as it would spoil a sum for ever.
# Seen: Infinity is refused everywhere. A counter takes NaN, and is NaN from then on; a histogram refuses it, and says
# that the value was undefined.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install prom-client@15.1.3
cat > "$folder/values.mjs" <<'JS'
import { Counter, Histogram, Registry } from 'prom-client'
const registers = [new Registry()]
const counter = new Counter({ name: 'plants_total', help: 'plants', registers })
const histogram = new Histogram({ name: 'latency_seconds', help: 'latency', buckets: [1], registers })
function outcome (call) {
  try {
    call()
    return 'taken'
  } catch (error) {
    return error.message
  }
}
console.log('histogram, Infinity: ' + outcome(() => histogram.observe(Infinity)))
console.log('counter, Infinity: ' + outcome(() => counter.inc(Infinity)))
console.log('histogram, NaN: ' + outcome(() => histogram.observe(NaN)))
console.log('counter, NaN: ' + outcome(() => counter.inc(NaN)))
counter.inc(5)
const { values: [{ value }] } = await counter.get()
console.log('counter, then 5: ' + value)
JS
seen=$(node "$folder/values.mjs")

compare 'expected: taken' 'histogram, Infinity: Value is not a valid number: Infinity' "$(sed -n 1p <<<"$seen")"
compare 'expected: taken, or refused' 'counter, Infinity: Value is not a valid number: Infinity' "$(sed -n 2p <<<"$seen")"
compare 'expected: refused as NaN' 'histogram, NaN: Value is not a valid number: undefined' "$(sed -n 3p <<<"$seen")"
compare 'expected: refused' 'counter, NaN: taken' "$(sed -n 4p <<<"$seen")"
compare 'expected: 5' 'counter, then 5: NaN' "$(sed -n 5p <<<"$seen")"
report
