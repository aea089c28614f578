import { METHODS } from 'node:http'
import { TOKEN } from './service.js'

/** A marker in every body, so that a log that contains a body is detected. */
export const MARK = 'a-name-that-no-log-may-contain'
const PLANT = JSON.stringify({ id: 1, name: MARK })
const INVALID_PLANT = JSON.stringify({ id: '1', name: MARK })

/** The bytes sent on a connection, and the expected responses. */
export interface HostileRequest {
  name: string
  sent: string | Buffer | (string | Buffer)[]
  /** The status and error number of each response, in order; the number is 0 if the response is not an error. */
  answers: (readonly [status: number, error: number])[]
  /** Whether the server must close the connection afterwards. */
  closes?: boolean
}

interface Parts {
  line?: string
  host?: string[]
  authorization?: string[]
  type?: string[]
  length?: string[] | undefined
  more?: string[]
  body?: string
}

const STORED = [200, 0] as const
const MALFORMED = [400, 40000] as const
const NO_CREDENTIALS = [401, 40101] as const
const UNKNOWN_TOKEN = [401, 40102] as const
const UNKNOWN_PATH = [404, 40401] as const
const OTHER_METHOD = [405, 40501] as const
const OTHER_MEDIA_TYPE = [415, 41501] as const

/** A valid `POST /plants`, apart from the given parts; a header can be given any number of times. */
export function post ({
  line = 'POST /plants HTTP/1.1', host = ['Host: plants.example'], authorization = [`Authorization: Bearer ${TOKEN}`],
  type = ['Content-Type: application/json'], body = PLANT, length = [`Content-Length: ${Buffer.byteLength(body)}`], more = []
}: Parts = {}): string {
  return [line, ...host, ...authorization, ...type, ...length, ...more, '', body].join('\r\n')
}

const chunked = ['Transfer-Encoding: chunked']
const PLANT_IN_CHUNKS = `${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n`
const authorized = (value: string) => post({ authorization: [`Authorization: ${value}`] })

/** Media types that are not JSON, or cannot be parsed; they must not bypass validation. */
const refusedTypes = [
  'text/plain', 'application/jsonx', 'application/json-patch+json', 'application/jso', 'application', 'application/', '/json', 'json', '*/*', 'application/*',
  'application/json, text/plain', 'application/json,application/json', 'text/plain, application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=application/json',
  'text/plain; application/json', 'application/json/json', 'application/ json', 'application /json', '"application/json"', 'application/json\u00a0', 'x-application/json', ''
]
/** Spellings of application/json (RFC 9110, section 8.3.1). */
const acceptedTypes = [
  'application/json', 'Application/JSON', 'APPLICATION/JSON', 'application/json; charset=utf-8', 'application/json;charset=UTF-8', 'application/json ; charset=utf-8',
  'application/json;charset="utf-8"', ' application/json ', '\tapplication/json\t', 'application/json; a=b; c="d;e"'
]
/** Either response is allowed; CVE-2025-32442, CVE-2026-25223, CVE-2026-3419 and CVE-2026-33806 used these. */
export const doubtfulTypes = [
  'application/json\ta', 'application/json\t;charset=utf-8', 'application/json garbage', 'application/json;', 'application/json ;', 'application/json;;', 'application/json; ', 'application/json;charset',
  'application/json;=', 'application/json; charset = utf-8', 'application/json; text/plain', 'application/json;application/text', 'application/json\t', 'application/json \t ', 'application/json;\tcharset=utf-8',
  'application/json;charset=utf-16', 'application/json;charset=iso-8859-1', 'application/json; charset="', '\t application/json', 'application/json;charset=utf-8, text/plain'
]

const paths: [target: string, answer: readonly [number, number]][] = [
  ['//plants', UNKNOWN_PATH], ['/plants/', UNKNOWN_PATH], ['/./plants', UNKNOWN_PATH], ['/x/../plants', UNKNOWN_PATH], ['/PLANTS', UNKNOWN_PATH], ['/Plants', UNKNOWN_PATH], ['/plants;x', UNKNOWN_PATH], ['/plants%00', UNKNOWN_PATH],
  ['/plants%2f', UNKNOWN_PATH], ['/%2fplants', UNKNOWN_PATH], ['/%2Fplants', UNKNOWN_PATH], ['/plants%20', UNKNOWN_PATH], ['/plants.json', UNKNOWN_PATH], ['/plants%', UNKNOWN_PATH], ['/%zz', UNKNOWN_PATH], ['/plants%ff', UNKNOWN_PATH], ['/', UNKNOWN_PATH], ['/..%2fplants', UNKNOWN_PATH],
  ['/health/../plants', UNKNOWN_PATH], ['/health/ready%2f..%2f..%2fplants', UNKNOWN_PATH], ['/plants\\', UNKNOWN_PATH], ['/plants/1', UNKNOWN_PATH], ['/plants%0d%0aX:%20y', UNKNOWN_PATH]
]

export const hostileRequests: HostileRequest[] = [
  { name: 'a valid request', sent: post(), answers: [STORED] },

  // Content types.
  ...refusedTypes.map(type => ({ name: `Content-Type: ${JSON.stringify(type)}`, sent: post({ type: [`Content-Type: ${type}`] }), answers: [OTHER_MEDIA_TYPE] })),
  ...acceptedTypes.map(type => ({ name: `Content-Type: ${JSON.stringify(type)}`, sent: post({ type: [`Content-Type:${type}`] }), answers: [STORED] })),
  ...acceptedTypes.map(type => ({ name: `Content-Type: ${JSON.stringify(type)}, and an invalid plant`, sent: post({ type: [`Content-Type:${type}`], body: INVALID_PLANT }), answers: [[400, 40003] as const] })),
  { name: 'no Content-Type', sent: post({ type: [] }), answers: [OTHER_MEDIA_TYPE] },
  { name: 'chunks without Content-Type', sent: post({ type: [], length: chunked, body: PLANT_IN_CHUNKS }), answers: [OTHER_MEDIA_TYPE] },

  // Headers that must not be repeated.
  { name: 'Authorization twice, the valid one first', sent: post({ authorization: [`Authorization: Bearer ${TOKEN}`, 'Authorization: Bearer another-token-than-that'] }), answers: [NO_CREDENTIALS] },
  { name: 'Authorization twice, the valid one last', sent: post({ authorization: ['Authorization: Basic YTpi', `AUTHORIZATION: Bearer ${TOKEN}`] }), answers: [NO_CREDENTIALS] },
  { name: 'Content-Length twice, different', sent: post({ length: [`Content-Length: ${PLANT.length}`, 'Content-Length: 1'] }), answers: [MALFORMED], closes: true },
  { name: 'Content-Length twice, the same', sent: post({ length: [`Content-Length: ${PLANT.length}`, `Content-Length: ${PLANT.length}`] }), answers: [MALFORMED], closes: true },

  { name: 'Authorization after a header of that length, whose value is the name', sent: post({ authorization: ['X-Thirteen-ab: authorization', `Authorization: Bearer ${TOKEN}`] }), answers: [STORED] },
  { name: 'other repeated headers, with names of the same lengths', sent: post({ more: ['X-ab: 1', 'X-Twelve-abc: 1', 'X-Thirteen-ab: 1'].flatMap(header => [header, header]) }), answers: [STORED] },

  // Framing: request smuggling, where a proxy sees one request and the service two.
  { name: 'Content-Length and Transfer-Encoding', sent: post({ more: chunked, body: PLANT_IN_CHUNKS }), answers: [MALFORMED], closes: true },
  { name: 'Transfer-Encoding and Content-Length, with a request after the last chunk', sent: post({ length: ['Transfer-Encoding: chunked', 'Content-Length: 4'], body: `0\r\n\r\n${post()}` }), answers: [MALFORMED], closes: true },
  ...['Transfer-Encoding: identity', 'Transfer-Encoding: gzip, identity', 'Transfer-Encoding: chunked, identity', 'Transfer-Encoding: chunked, chunked', 'Transfer-Encoding: xchunked', 'Transfer-Encoding : chunked', 'Transfer-Encoding: \x0bchunked', 'X: y\r\n Transfer-Encoding: chunked'].map(header => (
    { name: `${JSON.stringify(header)} beside a Content-Length`, sent: post({ more: [header], body: PLANT_IN_CHUNKS }), answers: [MALFORMED], closes: true }
  )),
  { name: 'chunks', sent: post({ length: chunked, body: PLANT_IN_CHUNKS }), answers: [STORED] },
  { name: 'chunks of one byte each', sent: post({ length: chunked, body: `${[...PLANT].map(byte => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n` }), answers: [STORED] },
  { name: 'chunks with an extension and a trailer', sent: post({ length: chunked, body: `${PLANT.length.toString(16)};a=b\r\n${PLANT}\r\n0\r\nAuthorization: Bearer x\r\n\r\n` }), answers: [STORED] },
  { name: 'a chunk size with the prefix 0x', sent: post({ length: chunked, body: `0x${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n` }), answers: [MALFORMED], closes: true },
  { name: 'a chunk size of letters', sent: post({ length: chunked, body: 'zz\r\n' }), answers: [MALFORMED], closes: true },
  { name: 'a chunk size of 2^64', sent: post({ length: chunked, body: `ffffffffffffffff1\r\n${PLANT}\r\n0\r\n\r\n` }), answers: [MALFORMED], closes: true },
  { name: 'a chunk that is longer than its size', sent: post({ length: chunked, body: `5\r\n${PLANT}\r\n0\r\n\r\n` }), answers: [MALFORMED], closes: true },
  { name: 'chunks with LF only', sent: post({ length: chunked, body: `${PLANT.length.toString(16)}\n${PLANT}\n0\n\n` }), answers: [MALFORMED], closes: true },
  { name: 'an empty chunked body', sent: post({ length: chunked, body: '0\r\n\r\n' }), answers: [[400, 40001]] },
  ...['-1', '+5', '0x10', '1e2', '5 5', '5,5', '99999999999999999999', 'a'].map(length => (
    { name: `Content-Length: ${length}`, sent: post({ length: [`Content-Length: ${length}`] }), answers: [MALFORMED], closes: true }
  )),
  { name: 'a body over the limit, by its Content-Length', sent: post({ length: ['Content-Length: 1048577'] }), answers: [[413, 41301]] },
  { name: 'a body over the limit, in chunks', sent: post({ length: chunked, body: `${(1_048_577).toString(16)}\r\n${' '.repeat(1_048_577)}\r\n0\r\n\r\n` }), answers: [[413, 41301]] },
  { name: 'neither Content-Length nor Transfer-Encoding', sent: post({ length: [], body: '' }), answers: [[400, 40001]] },
  { name: 'LF only', sent: post().replaceAll('\r\n', '\n'), answers: [MALFORMED], closes: true },
  { name: 'LF only, in one header', sent: post({ more: ['X: y\nTransfer-Encoding: chunked'] }), answers: [MALFORMED], closes: true },
  { name: 'CR only, in a header', sent: post({ more: ['X: y\rZ: a'] }), answers: [MALFORMED], closes: true },
  { name: 'NUL in a header', sent: post({ more: ['X: y\0'] }), answers: [MALFORMED], closes: true },
  // Node's parser accepts these before its version 9, as in Node 20.19.0.
  ...(Number.parseInt(process.versions['llhttp'] ?? '') < 9
    ? []
    : [
        { name: 'a space before the colon', sent: post({ authorization: [`Authorization : Bearer ${TOKEN}`] }), answers: [MALFORMED], closes: true },
        { name: 'a header without a name', sent: post({ more: [': x'] }), answers: [MALFORMED], closes: true },
        { name: 'a non-ASCII byte in the target', sent: Buffer.from(post({ line: 'POST /plants\xff HTTP/1.1' }), 'latin1'), answers: [MALFORMED], closes: true }
      ]),
  { name: 'a header without a colon', sent: post({ more: ['broken'] }), answers: [MALFORMED], closes: true },
  { name: 'a folded header', sent: post({ authorization: ['Authorization: Bearer', ` ${TOKEN}`] }), answers: [MALFORMED], closes: true },
  { name: 'headers of 20 kB', sent: post({ more: [`X: ${'y'.repeat(20_000)}`] }), answers: [[431, 43101]], closes: true },
  { name: 'a path of 20 kB', sent: post({ line: `POST /plants?${'y'.repeat(20_000)} HTTP/1.1` }), answers: [[431, 43101]], closes: true },
  { name: 'a token of 10 kB', sent: authorized(`Bearer ${'y'.repeat(10_000)}`), answers: [UNKNOWN_TOKEN] },
  { name: '3,000 headers', sent: post({ more: Array.from({ length: 3_000 }, () => 'a:b') }), answers: [STORED] },
  { name: '3,000 headers, then a second Authorization', sent: post({ more: [...Array.from({ length: 3_000 }, () => 'a:b'), 'Authorization: Bearer x'] }), answers: [NO_CREDENTIALS] },
  { name: '10,000 headers', sent: post({ more: Array.from({ length: 10_000 }, () => 'a:b') }), answers: [[431, 43101]], closes: true },

  // Protocols.
  { name: 'not HTTP', sent: 'hello\r\n\r\n', answers: [MALFORMED], closes: true },
  { name: 'a TLS handshake', sent: Buffer.from('160301020001000100', 'hex'), answers: [MALFORMED], closes: true },
  { name: 'HTTP/2 with prior knowledge', sent: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', answers: [MALFORMED], closes: true },
  { name: 'HTTP/1.0', sent: post({ line: 'POST /plants HTTP/1.0', host: [] }), answers: [STORED], closes: true },
  { name: 'HTTP/1.0 with a body and no length', sent: post({ line: 'POST /plants HTTP/1.0', length: [] }), answers: [[400, 40001]], closes: true },
  { name: 'an unknown method', sent: post({ line: 'PLANT /plants HTTP/1.1' }), answers: [MALFORMED], closes: true },
  { name: 'a method in lower case', sent: post({ line: 'post /plants HTTP/1.1' }), answers: [MALFORMED], closes: true },
  { name: 'a method followed by a tab', sent: post({ line: 'POST\t/plants HTTP/1.1' }), answers: [MALFORMED], closes: true },
  ...['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'].filter(method => METHODS.includes(method)).map(method => (
    { name: `${method} /plants without credentials`, sent: `${method} /plants HTTP/1.1\r\nHost: a\r\n\r\n`, answers: [OTHER_METHOD] }
  )),
  { name: 'CONNECT', sent: 'CONNECT plants.example:80 HTTP/1.1\r\nHost: a\r\n\r\n', answers: [], closes: true },
  { name: 'X-HTTP-Method-Override', sent: post({ line: 'GET /plants HTTP/1.1', more: ['X-HTTP-Method-Override: POST'] }), answers: [OTHER_METHOD] },
  { name: 'Upgrade: h2c', sent: post({ more: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'] }), answers: [STORED], closes: false },
  { name: 'Upgrade: websocket without credentials', sent: post({ authorization: [], more: ['Connection: Upgrade', 'Upgrade: websocket'] }), answers: [NO_CREDENTIALS], closes: false },
  { name: 'another Expect', sent: post({ more: ['Expect: 200-ok'] }), answers: [STORED] },
  { name: 'two pipelined requests', sent: post() + post(), answers: [STORED, STORED] },
  { name: 'twenty pipelined requests', sent: post().repeat(20), answers: Array.from({ length: 20 }, () => STORED) },
  { name: 'a valid request, then one without credentials', sent: post() + post({ authorization: [] }), answers: [STORED, NO_CREDENTIALS] },
  { name: 'a request without credentials, then a valid one', sent: post({ authorization: [] }) + post(), answers: [NO_CREDENTIALS, STORED] },
  { name: 'a valid request, then invalid HTTP', sent: [post(), 'hello\r\n\r\n'], answers: [STORED, MALFORMED], closes: true },
  {
    name: 'refused bodies, then a valid request',
    sent: ['', '{', '{}', '[]', PLANT].map(body => post({ body })).join(''),
    answers: [[400, 40001], [400, 40002], [400, 40003], [400, 40003], STORED]
  },
  { name: 'empty lines before a request', sent: `\r\n\r\n${post()}`, answers: [STORED] },
  { name: 'a request in pieces', sent: post().match(/.{1,40}/gs) as string[], answers: [STORED] },

  // Paths: none of these variants is /plants, or a way around authentication.
  ...paths.map(([target, answer]) => ({ name: `POST ${target} without credentials`, sent: post({ line: `POST ${target} HTTP/1.1`, authorization: [] }), answers: [answer] })),
  ...paths.map(([target, answer]) => ({ name: `POST ${target}`, sent: post({ line: `POST ${target} HTTP/1.1` }), answers: [answer] })),
  ...['/plants?', '/plants?x=y', '/plants?access_token=x', '/%70lants', '/plants?a=%00', '/plants?/../health/live'].flatMap(target => [
    { name: `POST ${target} without credentials`, sent: post({ line: `POST ${target} HTTP/1.1`, authorization: [] }), answers: [NO_CREDENTIALS] },
    { name: `POST ${target}`, sent: post({ line: `POST ${target} HTTP/1.1` }), answers: [STORED] }
  ]),
  { name: 'an absolute target without credentials', sent: post({ line: 'POST http://plants.example/plants HTTP/1.1', authorization: [] }), answers: [NO_CREDENTIALS] },
  { name: 'an absolute target, which must be accepted (RFC 9112, section 3.2.2)', sent: post({ line: 'POST http://plants.example/plants HTTP/1.1' }), answers: [STORED] },
  { name: 'a target without a slash', sent: post({ line: 'POST plants HTTP/1.1' }), answers: [MALFORMED], closes: true },
  { name: 'the target *', sent: post({ line: 'POST * HTTP/1.1' }), answers: [UNKNOWN_PATH] },
  { name: 'a fragment', sent: post({ line: 'POST /plants#x HTTP/1.1', authorization: [] }), answers: [NO_CREDENTIALS] },
  { name: 'a space in the target', sent: post({ line: 'POST /plants /x HTTP/1.1' }), answers: [MALFORMED], closes: true },

  // Credentials.
  { name: 'no Authorization', sent: post({ authorization: [] }), answers: [NO_CREDENTIALS] },
  ...['', ' ', 'Bearer', 'Bearer ', 'Bearer\t', TOKEN, `Basic ${TOKEN}`, `BearerX ${TOKEN}`, `Bearer${TOKEN}`, `Bearer,${TOKEN}`, `Bearer ${TOKEN} ${TOKEN}`, `Bearer ${TOKEN},`, `Bearer ${TOKEN}, Bearer ${TOKEN}`, `Bearer token=${TOKEN}x y`, `Bearer "${TOKEN}"`, `Bearer ${TOKEN}%20`, `Bearer ${TOKEN}\u00a0`, `"Bearer" ${TOKEN}`, `Digest username="a", Bearer ${TOKEN}`, 'Bearer =', 'Bearer {}', `Bearer ${TOKEN};`, `Bearer:${TOKEN}`].map(value => (
    { name: `Authorization: ${JSON.stringify(value)}`, sent: authorized(value), answers: [NO_CREDENTIALS] }
  )),
  { name: 'no Authorization, and a body that never arrives', sent: post({ authorization: [], length: ['Content-Length: 1000'], body: '' }), answers: [NO_CREDENTIALS] },
  { name: 'an unknown token, and a body that never arrives', sent: post({ authorization: ['Authorization: Bearer an-unknown-token'], length: ['Content-Length: 1000'], body: '' }), answers: [UNKNOWN_TOKEN] },
  { name: 'the token in the query', sent: post({ line: `POST /plants?access_token=${TOKEN} HTTP/1.1`, authorization: [] }), answers: [NO_CREDENTIALS] },
  { name: 'the token in the body', sent: post({ authorization: [], body: JSON.stringify({ id: 1, name: MARK, access_token: TOKEN }) }), answers: [NO_CREDENTIALS] },
  { name: 'the token in a cookie', sent: post({ authorization: [`Cookie: access_token=${TOKEN}`] }), answers: [NO_CREDENTIALS] },
  { name: 'the token in Proxy-Authorization', sent: post({ authorization: [`Proxy-Authorization: Bearer ${TOKEN}`] }), answers: [NO_CREDENTIALS] },
  { name: 'an underscore in the header name', sent: post({ authorization: [`Authorization_: Bearer ${TOKEN}`] }), answers: [NO_CREDENTIALS] },
  { name: 'bad credentials and a body that is not JSON', sent: post({ authorization: ['Authorization: Bearer wrong-token'], body: '{' }), answers: [UNKNOWN_TOKEN] },

  // Bodies.
  { name: 'operators of MongoDB', sent: post({ body: '{"id":{"$gt":0},"name":{"$ne":null}}' }), answers: [[400, 40003]] },
  { name: 'unknown fields', sent: post({ body: JSON.stringify({ id: 1, name: MARK, _id: 5, $set: { a: 1 }, toString: 1, hasOwnProperty: null, __defineGetter__: [] }) }), answers: [STORED] },
  { name: '50,000 keys', sent: post({ body: `{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":${i}`).join()},"id":1,"name":"${MARK}"}` }), answers: [STORED] },
  { name: '100,000 brackets in an unknown field', sent: post({ body: `{"id":1,"name":"${MARK}","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }), answers: [STORED] },
  { name: '100,000 brackets before an id with a decimal point', sent: post({ body: `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},"name":"${MARK}","id":1.0}` }), answers: [STORED] },
  { name: '100,000 nested objects with an id each', sent: post({ body: `{"x":${'{"id":'.repeat(100_000)}1${'}'.repeat(100_000)},"name":"${MARK}","id":1.0}` }), answers: [STORED] },
  { name: '100,000 brackets instead of an id', sent: post({ body: `{"id":${'['.repeat(100_000)}${']'.repeat(100_000)},"name":"${MARK}"}` }), answers: [[400, 40003]] },
  { name: 'an id of a million digits', sent: post({ body: `{"id":1${'0'.repeat(1_000_000)},"name":"${MARK}"}` }), answers: [[400, 40003]] },
  { name: 'an id of a million nines', sent: post({ body: `{"id":${'9'.repeat(1_000_000)}.0,"name":"${MARK}"}` }), answers: [[400, 40003]] },
  { name: 'an id of a million decimals', sent: post({ body: `{"id":1.${'0'.repeat(1_000_000)},"name":"${MARK}"}` }), answers: [STORED] },
  { name: 'an exponent of a million digits', sent: post({ body: `{"id":1e${'9'.repeat(1_000_000)},"name":"${MARK}"}` }), answers: [[400, 40003]] },
  { name: 'a million spaces before the id', sent: post({ body: `{"id":${' '.repeat(1_000_000)}1.0,"name":"${MARK}"}` }), answers: [STORED] },
  { name: '100,000 backslashes in a key', sent: post({ body: `{"${'\\\\'.repeat(100_000)}":1,"id":1.0,"name":"${MARK}"}` }), answers: [STORED] }
]

/** JSON (RFC 8259) that every parser must accept. None of it is a valid plant. */
export const wellFormed: readonly string[] = [
  '[]', '{}', ' [] ', '[ ]', '\t\n\r [1]\r\n', 'null', 'true', 'false', '0', '-0', '42', '-1', '"a"', '""', ' "spaces around" ',
  '[[]   ]', '[""]', '[null, 1, "1", {}]', '[1,null,null,null,2]', '[2] ', '[123e65]', '[0e+1]', '[0e1]', '[ 4]', '[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]',
  '[20e1]', '[-0]', '[-123]', '[-1]', '[1E22]', '[1E-2]', '[1E+2]', '[123e45]', '[123.456e78]', '[1e-2]', '[1e+2]', '[123]', '[123.456789]', '[1e400]', '[-1e999]', '[0.1e-400]',
  '[12345678901234567890123456789012345678901234567890]',
  '{"asd":"sdf", "dfg":"fgh"}', '{"asd":"sdf"}', '{"a":"b","a":"c"}', '{"a":"b","a":"b"}', '{"":0}', '{"foo\\u0000bar": 42}', '{ "min": -1.0e+28, "max": 1.0e+28 }', '{"a":[]}', '{"title":"\\u041f"}', '{\n"a": "b"\n}', '{"id":1}', '{"name":"x"}', '{"id":{},"name":[]}',
  '["\\u0060\\u012a\\u12AB"]', '["\\uD801\\udc37"]', '["\\ud83d\\ude39\\ud83d\\udc8d"]', '["\\"\\\\\\/\\b\\f\\n\\r\\t"]', '["\\\\u0000"]', '["\\""]', '["a/*b*/c/*d//e"]', '["\\\\a"]', '["\\\\n"]', '["\\u0012"]', '["\\uFFFF"]', '["asd"]', '[ "asd"]', '["\\uDBFF\\uDFFF"]',
  '["new\\u00A0line"]', '["\u{10FFFF}"]', '["\uFFFF"]', '["\\u0000"]', '["\\u002c"]', '["π"]', '["\u{1BFFF}"]', '["asd "]', '" "', '["\\uD834\\uDd1e"]', '["\\u0821"]', '["\u2028"]', '["\u2029"]', '["\\u0061\\u30af\\u30EA\\u30b9"]', '["new\\u000Aline"]', '["\x7F"]', '["\\uA66D"]', '["⍂㈴⍂"]', '["\\u200B"]', '["\\u2064"]', '["\\uFDD0"]', '["\\uFFFE"]', '["€𝄞"]', '["aa"]',
  // A lone surrogate is valid if it is escaped.
  '["\\uD800"]', '{"\\uDFAA":0}', '["\\uD800\\n"]', '["\\ud800abc"]',
  '['.repeat(500) + ']'.repeat(500)
]

/** Text that is not JSON, or bytes that cannot be written as a string. */
export const malformed: readonly (string | Buffer)[] = [
  ' ', '\n', '[1 true]', '["": 1]', '[""],', '[,1]', '[1,,2]', '["x",,]', '["x"]]', '["",]', '["x"', '[x', '[3[4]]', '[1:2]', '[,]', '[-]', '[   , ""]', '["a",\n4\n,1,', '[1,]', '[1,,]', '["\x0Ba"\\f]', '[*]', '[1', '[1,\n1\n,1', '[{}', '[fals]', '[nul]', '[tru]', '123\x00',
  '[++1234]', '[+1]', '[+Inf]', '[-01]', '[-1.0.]', '[-2.]', '[-NaN]', '[.-1]', '[.2e-3]', '[0.1.2]', '[0.3e+]', '[0.3e]', '[0.e1]', '[0E+]', '[0E]', '[0e+]', '[0e]', '[1.0e+]', '[1.0e-]', '[1.0e]', '[1 000.0]', '[1eE2]', '[2.e+3]', '[2.e-3]', '[2.e3]', '[9.e+]', '[Inf]', '[NaN]', '[\uFF11]', '[1+2]', '[0x1]', '[0x42]', '[Infinity]', '[0e+-1]', '[-123.123foo]', '[-Infinity]', '[-foo]', '[- 1]', '[-012]', '[-.123]', '[-1x]', '[1ea]', '[1e1\u{E5}]', '[1.]', '[.123]', '[1.2a-3]', '[1.8011670033376514H-308]', '[012]', '01', '1_000',
  '["x", truth]', '{[: "x"}\n', '{"x", null}', '{"x"::"b"}', '{🇨🇭}', '{"a":"a" 123}', '{key: \'value\'}', '{"a" b}', '{:"b"}', '{"a" "b"}', '{"a":', '{"a"', '{1:1}', '{9999E9999:1}', '{null:null,null:null}', '{"id":0,,,,,}', '{\'a\':0}', '{"id":0,}', '{"a":"b"}/**/', '{"a":"b"}/**//', '{"a":"b"}//', '{"a":"b"}/', '{"a":"b",,"c":"d"}', '{a: "b"}', '{"a":"a', '{ "foo" : "bar", "a" }', '{"a":"b"}#', '{"id":1,"name":"x"}}', '{"id":01,"name":"x"}', '{"id":+1,"name":"x"}', '{"id":0x1,"name":"x"}',
  '["\\uD800\\"]', '["\\uD800\\u"]', '["\\uD800\\u1"]', '["\\uD800\\u1x"]', '[é]', '["\\\x00"]', '["\\\\\\"]', '["\\\t"]', '["\\🌀"]', '["\\"]', '["\\u00A"]', '["\\uD834\\uDd"]', '["\\uD800\\uD800\\x"]', '["\\a"]', '["\\uqqqq"]', '[\\u0020"asd"]', '[\\n]', '"', '[\'single quote\']', 'abc', '["\\', '["a\x00a"]', '["new\nline"]', '["\t"]', '"\\UA66D"', '""x', '\u2060', '\uFEFF\uFEFF{}',
  '<.>', '[<null>]', '[1]x', '[1]]', '["asd]', 'aå', '[True]', '1]', '{"x": true,', '[][]', ']', '<html></html>', '{}}', '{"":', '{', '[', '{"a":/*comment*/"b"}', '{"a": true} "x"', '[\'', '[,', '[{', '["a', '["a"', '{]', '{,', '{[', '{"a', '{\'a\'', '["\\{["\\{["\\{["\\{', '*', '{"a":"b"}#{}', '[\\u000A""]', '[1', '[ false, nul', '[ true, fals', '[ false, tru', '{"asd":"asd"', 'å', '[\u2060]', '[\f]', '[\u00A0]', 'undefined', '[undefined]', '{"id":1n,"name":"x"}',
  Buffer.from([0xff]), Buffer.from('["\xff"]', 'latin1'), Buffer.from('[1\xe5]', 'latin1'), Buffer.from('["\xe9"]', 'latin1'), Buffer.from('["\xed\xa0\x80"]', 'latin1'), Buffer.from('["\xc0\xaf"]', 'latin1'), Buffer.from('["\xf4\xbf\xbf\xbf"]', 'latin1'), Buffer.from('["\xe0\xff"]', 'latin1'), Buffer.from('["\x81"]', 'latin1'),
  Buffer.from('\xfe\xff\x00[\x00]', 'latin1'), Buffer.from('[\x00"\x00a\x00"\x00]\x00', 'latin1'), Buffer.from('\xff\xfe[\x00]\x00', 'latin1'),
  '['.repeat(100_000), '[{"":'.repeat(50_000), '{"a":'.repeat(100_000), '['.repeat(100_000) + ']'.repeat(99_999)
]
