import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import type { SessionId, UserId } from '../../domain/ids.ts'
import { createTokenSigner, TOKEN_LIFE_S, type TokenClaims } from './token.ts'

const KEY = Buffer.alloc(32, 1)
const OTHER_KEY = Buffer.alloc(32, 2)
const NOW = Date.UTC(2026, 0, 1)
const IAT = NOW / 1000
const CLAIMS: TokenClaims = {
  userId: 'usr_1' as UserId,
  email: 'ada@example.com',
  role: 'owner',
  sessionId: 'ses_1' as SessionId,
}
const PAYLOAD = {
  sub: 'usr_1',
  email: 'ada@example.com',
  role: 'owner',
  iat: IAT,
  exp: IAT + TOKEN_LIFE_S,
  sid: 'ses_1',
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const kidOf = (key: Uint8Array): string =>
  hash('sha256', Buffer.concat([Buffer.from('turnpike session key id '), key]), 'base64url').slice(0, 16)
const HEADER = { alg: 'HS256', kid: kidOf(KEY), typ: 'JWT' }

/** A token with a right signature, whatever it says. */
function forge(
  header: unknown,
  payload: unknown,
  { key = KEY, digest = 'sha256' }: { key?: string | Buffer; digest?: string } = {},
): string {
  const text = `${encode(header)}.${encode(payload)}`
  return `${text}.${createHmac(digest, key).update(text).digest('base64url')}`
}

async function verify(token: string, { now = NOW, keys = [KEY] as [Uint8Array, ...Uint8Array[]] } = {}) {
  return (await createTokenSigner({ keys, now: () => now })).verify(token)
}

async function signed(claims: TokenClaims = CLAIMS): Promise<string> {
  return (await createTokenSigner({ keys: [KEY], now: () => NOW })).sign(claims)
}

test('JWT-2: a token has exactly the claims of the contract, and sid', async () => {
  const token = await signed()
  const [header = '', payload = ''] = token.split('.')
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), HEADER)
  assert.deepEqual(JSON.parse(Buffer.from(payload, 'base64url').toString()), PAYLOAD)
  assert.deepEqual(await verify(token), { ...CLAIMS, expiresAt: NOW + TOKEN_LIFE_S * 1000 })
  assert.equal(forge(HEADER, PAYLOAD).split('.').length, 3)
  assert.notEqual(await verify(forge(HEADER, PAYLOAD)), undefined, 'what forge makes is right unless it is made wrong')
})

test('JWT-2: a token is valid for 15 minutes and not a second longer; its iat may be 30 s ahead', async () => {
  const token = await signed()
  for (const [afterS, isGood] of [
    [-29, true],
    [-31, false],
    [899, true],
    [900, false],
    [901, false],
  ] as const) {
    assert.equal((await verify(token, { now: NOW + afterS * 1000 })) !== undefined, isGood, String(afterS))
  }
})

test('a token with the longest address is readable [limit: token-email]', async () => {
  const email = `${'😀'.repeat(200)}@example.com`
  const verified = await verify(await signed({ ...CLAIMS, email }))
  assert.equal(verified?.email, email.slice(0, 254))
})

test('JWT-4: a token of more than 2 048 characters is rejected, even with a valid signature [limit: session-token]', async () => {
  const lengths = new Set<boolean>()
  for (let size = 1_200; size < 1_450; size++) {
    const token = forge(HEADER, { ...PAYLOAD, email: 'x'.repeat(size) })
    const isShort = token.length <= 2_048
    assert.equal((await verify(token)) !== undefined, isShort, String(token.length))
    lengths.add(isShort)
  }
  assert.equal(lengths.size, 2, 'some are short enough, some are not')
})

test('JWT-1: a token of the previous secret is valid while it is configured, and no other', async () => {
  const before = await (await createTokenSigner({ keys: [OTHER_KEY], now: () => NOW })).sign(CLAIMS)
  assert.notEqual(await verify(before, { keys: [KEY, OTHER_KEY] }), undefined)
  assert.equal(await verify(before), undefined)
  const now = await (await createTokenSigner({ keys: [KEY, OTHER_KEY], now: () => NOW })).sign(CLAIMS)
  assert.notEqual(await verify(now), undefined, 'the first signs')
})

test('JWT-1: a key of less than 32 bytes is rejected', async () => {
  await assert.rejects(createTokenSigner({ keys: [KEY.subarray(1)], now: () => NOW }), /32 bytes/)
})

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicKey = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const text = JSON.stringify(PAYLOAD)
const [h = '', p = '', s = ''] = forge(HEADER, PAYLOAD).split('.')

const VECTORS: Readonly<Record<string, string>> = {
  'alg none': `${encode({ ...HEADER, alg: 'none' })}.${p}.`,
  'alg none with a signature': `${encode({ ...HEADER, alg: 'none' })}.${p}.${s}`,
  'alg None': forge({ ...HEADER, alg: 'None' }, PAYLOAD),
  'alg nOnE': forge({ ...HEADER, alg: 'nOnE' }, PAYLOAD),
  HS384: forge({ ...HEADER, alg: 'HS384' }, PAYLOAD, { digest: 'sha384' }),
  HS512: forge({ ...HEADER, alg: 'HS512' }, PAYLOAD, { digest: 'sha512' }),
  'HS384 said, HS256 signed': forge({ ...HEADER, alg: 'HS384' }, PAYLOAD),
  'RS256 with a public key as secret': forge({ ...HEADER, alg: 'RS256' }, PAYLOAD, { key: publicKey }),
  'HS256 with a public key as secret': forge(HEADER, PAYLOAD, { key: publicKey }),
  'a real RS256': await new SignJWT(PAYLOAD).setProtectedHeader({ ...HEADER, alg: 'RS256' }).sign(rsa.privateKey),
  'no alg': forge({ kid: HEADER.kid, typ: 'JWT' }, PAYLOAD),
  'empty signature': `${h}.${p}.`,
  'short signature': `${h}.${p}.${s.slice(0, 10)}`,
  'signature of another': `${h}.${p}.${forge(HEADER, { ...PAYLOAD, role: 'billing' }).split('.')[2]}`,
  'signature with a bit turned': `${h}.${p}.${s.startsWith('A') ? 'B' : 'A'}${s.slice(1)}`,
  'another key under our kid': forge(HEADER, PAYLOAD, { key: OTHER_KEY }),
  'unknown kid': forge({ ...HEADER, kid: kidOf(OTHER_KEY) }, PAYLOAD, { key: OTHER_KEY }),
  'kid of a path': forge({ ...HEADER, kid: '../../dev/null' }, PAYLOAD, { key: '' }),
  'kid of a prototype': forge({ ...HEADER, kid: '__proto__' }, PAYLOAD),
  'no kid': forge({ alg: 'HS256', typ: 'JWT' }, PAYLOAD),
  'kid that is no text': forge({ ...HEADER, kid: 1 }, PAYLOAD),
  jku: forge({ ...HEADER, jku: 'https://evil.example/keys' }, PAYLOAD),
  x5u: forge({ ...HEADER, x5u: 'https://evil.example/cert' }, PAYLOAD),
  jwk: forge({ ...HEADER, jwk: { kty: 'oct', k: encode('x') } }, PAYLOAD),
  crit: forge({ ...HEADER, crit: ['exp'] }, PAYLOAD),
  b64: forge({ ...HEADER, b64: false, crit: ['b64'] }, PAYLOAD),
  zip: forge({ ...HEADER, zip: 'DEF' }, PAYLOAD),
  'typ at+jwt': forge({ ...HEADER, typ: 'at+jwt' }, PAYLOAD),
  'no typ': forge({ alg: 'HS256', kid: HEADER.kid }, PAYLOAD),
  aud: forge(HEADER, { ...PAYLOAD, aud: 'turnpike' }),
  iss: forge(HEADER, { ...PAYLOAD, iss: 'turnpike' }),
  'no exp': forge(HEADER, { ...PAYLOAD, exp: undefined }),
  'no iat': forge(HEADER, { ...PAYLOAD, iat: undefined }),
  'no sub': forge(HEADER, { ...PAYLOAD, sub: undefined }),
  'no sid': forge(HEADER, { ...PAYLOAD, sid: undefined }),
  'exp past': forge(HEADER, { ...PAYLOAD, iat: IAT - 60, exp: IAT - 1 }),
  'exp far off, iat too old': forge(HEADER, { ...PAYLOAD, iat: IAT - 1_000, exp: IAT + 86_400 }),
  'exp as text': forge(HEADER, { ...PAYLOAD, exp: String(IAT + 60) }),
  'exp null': forge(HEADER, { ...PAYLOAD, exp: null }),
  'exp beyond numbers': forge(HEADER, text.replace(/"exp":\d+/, '"exp":1e999')),
  'iat future': forge(HEADER, { ...PAYLOAD, iat: IAT + 60, exp: IAT + 120 }),
  'nbf future': forge(HEADER, { ...PAYLOAD, nbf: IAT + 600 }),
  'nbf past': forge(HEADER, { ...PAYLOAD, nbf: IAT - 600 }),
  'duplicate claim': forge(HEADER, text.replace('{', '{"role":"billing",')),
  'duplicate header': forge(JSON.stringify(HEADER).replace('{', '{"alg":"none",'), PAYLOAD),
  'unknown role': forge(HEADER, { ...PAYLOAD, role: 'root' }),
  'sub as object': forge(HEADER, { ...PAYLOAD, sub: {} }),
  'white space in JSON': forge(HEADER, JSON.stringify(PAYLOAD, undefined, 1)),
  'payload no object': forge(HEADER, 'null'),
  'payload a list': forge(HEADER, []),
  'payload no JSON': forge(HEADER, '{'),
  'payload not UTF-8': `${h}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${s}`,
  '64 kB': forge(HEADER, { ...PAYLOAD, email: 'x'.repeat(65_536) }),
  'padded base64': `${h}=.${p}.${s}`,
  'padded signature': `${h}.${p}.${s}=`,
  'standard base64': `${h}.${p}.${Buffer.from(s, 'base64url').toString('base64')}`,
  'stray bits of base64': `${h}.${p}.${s.slice(0, -1)}${strayBits(s.at(-1) ?? '')}`,
  'line break': `${h}.${p}\n.${s}`,
  'two parts': `${h}.${p}`,
  'four parts': `${h}.${p}.${s}.${s}`,
  'five parts': `${h}..${p}.${s}.${s}`,
  'nothing in it': '..',
}

/** The last of 43 characters carries 4 bits: another one with the same 4 decodes alike. */
function strayBits(last: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(last) ^ 1] ?? ''
}

for (const [name, token] of Object.entries(VECTORS)) {
  test(`JWT-4: refused: ${name}`, async () => {
    assert.equal(await verify(token), undefined)
  })
}
