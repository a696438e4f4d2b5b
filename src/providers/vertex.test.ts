import assert from 'node:assert/strict'
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import type { ChatRequest } from '../domain/chat.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { type ProviderConfig, type ResolvedProvider, resolveProvider } from './index.ts'

const CONFIG: ProviderConfig = { timeout_ms: { connect: 1, idle: 3, total: 4 }, on_disconnect: 'cancel' }
const REQUEST: ChatRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: false,
  includeUsage: false,
  n: 1,
  extra: {},
}

function urlOf(config: Partial<ProviderConfig>, stream = false): string {
  const { provider, baseUrl } = resolveProvider('vertex', { ...CONFIG, ...config })
  const target = { model: 'gemini-2.5-flash', maxOutputTokens: undefined }
  return baseUrl + provider.protocol.renderRequest({ ...REQUEST, stream }, target).path
}

test('the address is made of project and region', () => {
  const place = 'v1/projects/p-1/locations/europe-west4/publishers/google/models/gemini-2.5-flash'
  const settings = { project: 'p-1', region: 'europe-west4' }
  assert.equal(urlOf(settings), `https://europe-west4-aiplatform.googleapis.com/${place}:generateContent`)
  assert.equal(
    urlOf(settings, true),
    `https://europe-west4-aiplatform.googleapis.com/${place}:streamGenerateContent?alt=sse`,
  )
  assert.match(
    urlOf({ project: 'p-1' }),
    /^https:\/\/aiplatform\.googleapis\.com\/v1\/projects\/p-1\/locations\/global\//,
  )
})

test('an address of one’s own may say the project itself', () => {
  const base = 'http://proxy.example/v1/projects/p/locations/us-central1'
  const expected = `${base}/publishers/google/models/gemini-2.5-flash:generateContent`
  assert.equal(urlOf({ base_url: base }), expected)
  assert.equal(urlOf({ base_url: `${base}/publishers/google/` }), expected)
  assert.match(urlOf({ base_url: 'http://proxy.example', project: 'p' }), /^http:\/\/proxy\.example\/v1\/projects\/p\//)
})

test('what is missing or strange is said', () => {
  assert.throws(() => resolveProvider('vertex', CONFIG), /needs a project/)
  assert.throws(() => resolveProvider('vertex', { ...CONFIG, project: 'p', region: '../x' }), /is no project or region/)
})

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
let folder: string
let assertions: string[] = []
let lifetimeSeconds = 3600
let status = 200
/** Gives a token to whoever shows an assertion signed by the service account. */
const server = createServer(async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  assertions.push(new URLSearchParams(body).get('assertion') ?? '')
  const token = { access_token: `token-${assertions.length}`, expires_in: lifetimeSeconds, token_type: 'Bearer' }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(status === 200 ? token : { error: 'invalid_grant' }))
})

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  folder = mkdtempSync(join(tmpdir(), 'turnpike-vertex-'))
  const account = {
    type: 'service_account',
    project_id: 'p',
    private_key_id: 'k1',
    private_key: privateKey,
    client_email: 'turnpike@p.iam.gserviceaccount.com',
    token_uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
  }
  writeFileSync(join(folder, 'account.json'), JSON.stringify(account))
})
beforeEach(() => {
  assertions = []
  lifetimeSeconds = 3600
  status = 200
})
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

function withAccount(): ResolvedProvider {
  return resolveProvider('vertex', { ...CONFIG, project: 'p', credentials_file: join(folder, 'account.json') })
}

async function headerOf({ provider }: ResolvedProvider, credential = ''): Promise<string | undefined> {
  const call: { url: string; headers: Record<string, string>; body: string } = {
    url: 'https://x/',
    headers: {},
    body: '',
  }
  await provider.authorize(call, credential)
  return call.headers['authorization']
}

test('a service account gets a token for its signature, and it is kept', async () => {
  const provider = withAccount()
  assert.equal(await headerOf(provider), 'Bearer token-1')
  assert.equal(await headerOf(provider), 'Bearer token-1')
  assert.equal(assertions.length, 1)
  const [head = '', claims = '', signature = ''] = (assertions[0] ?? '').split('.')
  const isSigned = createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')
  assert.equal(isSigned, true)
  const said = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))
  assert.equal(said.iss, 'turnpike@p.iam.gserviceaccount.com')
  assert.equal(said.scope, 'https://www.googleapis.com/auth/cloud-platform')
})

test('a token that is running out is renewed', async () => {
  lifetimeSeconds = 1
  const provider = withAccount()
  assert.equal(await headerOf(provider), 'Bearer token-1')
  assert.equal(await headerOf(provider), 'Bearer token-2')
})

test('calls at once ask for one token', async () => {
  const provider = withAccount()
  const headers = await Promise.all([headerOf(provider), headerOf(provider), headerOf(provider)])
  assert.deepEqual(new Set(headers), new Set(['Bearer token-1']))
})

test('a key in the configuration is an access token', async () => {
  assert.equal(await headerOf(withAccount(), 'ya29.x'), 'Bearer ya29.x')
  assert.equal(assertions.length, 0)
})

const isAboutCredentials = (error: unknown): boolean =>
  error instanceof ProviderError && error.failure.kind === 'credentials' && !/BEGIN|invalid_grant/.test(error.message)

test('a refused account and a missing file are failures about credentials', async () => {
  status = 400
  await assert.rejects(headerOf(withAccount()), isAboutCredentials)
  const missing = resolveProvider('vertex', { ...CONFIG, project: 'p', credentials_file: join(folder, 'none.json') })
  await assert.rejects(headerOf(missing), isAboutCredentials)
})
