/**
 * Checks a signature of version 4 as the service does it, by its documentation and with nothing but `node:crypto`, so
 * that it shares no mistake with the library that signs.
 */
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'

export interface SignedRequest {
  readonly method: string
  /** Path and query as they were on the wire. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

export interface Expected {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
  readonly service: string
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest()

/** Throws when the request was not signed by this key, over these very bytes. */
export function verifySignature(request: SignedRequest, expected: Expected): void {
  const header = request.headers['authorization'] ?? ''
  const parts = /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(header)
  assert.ok(parts, `no signature: ${header}`)
  const [, credential = '', signedHeaders = '', signature] = parts
  const time = request.headers['x-amz-date'] ?? ''
  assert.match(time, /^\d{8}T\d{6}Z$/)
  const scope = `${time.slice(0, 8)}/${expected.region}/${expected.service}/aws4_request`
  assert.equal(credential, `${expected.accessKeyId}/${scope}`)
  const names = signedHeaders.split(';')
  assert.ok(names.includes('host'), 'the host is signed')
  assert.deepEqual(names, names.toSorted())
  const [path = '', query = ''] = request.path.split('?')
  const canonical = [
    request.method,
    expected.service === 's3' ? path : path.split('/').map(encodeOnceMore).join('/'),
    query,
    ...names.map((name) => `${name}:${(request.headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    sha256(request.body),
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const dateKey = hmac(`AWS4${expected.secretAccessKey}`, time.slice(0, 8))
  const key = hmac(hmac(hmac(dateKey, expected.region), expected.service), 'aws4_request')
  assert.equal(signature, hmac(key, toSign).toString('hex'), `the signature is another one; canonical:\n${canonical}`)
}

/** Every service but one wants the encoded path encoded again. */
function encodeOnceMore(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}
