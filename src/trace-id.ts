/** The trace id in a `traceparent` header (W3C Trace Context, section 3.2); undefined where there is none. */
export function traceId (traceparent: string | string[] | undefined): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const id = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/.exec(traceparent)
  return id?.[1]
}
