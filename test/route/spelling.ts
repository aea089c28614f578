import fc from 'fast-check'

export const LOWEST = -(2n ** 63n)
export const HIGHEST = 2n ** 63n - 1n

export const anyInt64 = fc.oneof(
  fc.bigInt({ min: LOWEST, max: HIGHEST }),
  // Most of the above have 19 digits, and few end in zeros.
  fc.tuple(fc.integer({ min: -999, max: 999 }), fc.integer({ min: 0, max: 15 }))
    .map(([digits, zeros]) => BigInt(digits) * 10n ** BigInt(zeros)),
  fc.constantFrom(LOWEST, LOWEST + 1n, HIGHEST - 1n, HIGHEST, 0n),
  fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n)
)

/** A spelling of a number in JSON (RFC 8259, section 6): the position of the point, trailing zeros, an exponent. */
export const anySpelling = fc.record({
  shift: fc.integer({ min: -30, max: 30 }),
  zeros: fc.integer({ min: 0, max: 12 }),
  e: fc.constantFrom('e', 'E', 'e+', 'E+')
})

/** Writes `units` / 10^`decimals` as a number in JSON: 15 and 1 as `1.5`, for example. */
export function spell (
  units: bigint, decimals: number, { shift, zeros, e }: { shift: number, zeros: number, e: string }
): string {
  const sign = units < 0n ? '-' : ''
  let digits = String(units).replace('-', '')
  let decimalPlaces = decimals + shift
  if (decimalPlaces < 0) {
    digits += '0'.repeat(-decimalPlaces)
    decimalPlaces = 0
  }
  digits = digits.padStart(decimalPlaces + 1, '0')
  const whole = digits.slice(0, digits.length - decimalPlaces).replace(/^0+(?=\d)/, '')
  const fraction = digits.slice(digits.length - decimalPlaces) + '0'.repeat(zeros)
  const exponent = shift === 0 ? '' : shift > 0 ? `${e}${shift}` : `${e[0]}${shift}`
  return sign + whole + (fraction === '' ? '' : `.${fraction}`) + exponent
}
