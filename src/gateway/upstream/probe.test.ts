import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type ProviderConfig, resolveProvider } from '../../providers/index.ts'
import { probeProvider } from './probe.ts'

const LONG_MS = 60_000
const SECRET = 'sk-never-told-to-anybody'
const REST = { timeout_ms: { connect: 60_000, idle: 60_000, total: 60_000 }, on_disconnect: 'cancel' } as const

/** @param status Undefined: it never answers. */
async function serve(t: TestContext, status: number | undefined) {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    if (status !== undefined) response.writeHead(status).end(`{"error":"${'x'.repeat(100_000)}"}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function probe(config: Partial<ProviderConfig>, { name = 'mine', waitMs = LONG_MS } = {}) {
  return probeProvider(resolveProvider(name, { ...REST, api_key: SECRET, ...config }), waitMs)
}

test('one GET requests the list of models, if the protocol has one, with the first key', async (t) => {
  const { seen, url } = await serve(t, 200)
  for (const config of [
    { protocol: 'openai', base_url: `${url}/v1`, api_key: undefined, api_keys: ['first', 'second'] },
    { protocol: 'anthropic', base_url: url },
    { protocol: 'gemini', base_url: url },
  ] as const) {
    assert.deepEqual(await probe(config), { kind: 'answered', status: 200 })
  }
  assert.deepEqual(
    seen.map(({ method, url }) => `${method} ${url}`),
    ['GET /v1/models', 'GET /v1/models', 'GET /v1beta/models'],
  )
  const [openai, anthropic, gemini] = seen.map(({ headers }) => headers)
  assert.equal(openai?.authorization, 'Bearer first')
  assert.deepEqual([anthropic?.['x-api-key'], anthropic?.['anthropic-version']], [SECRET, '2023-06-01'])
  assert.equal(gemini?.['x-goog-api-key'], SECRET)
})

test('the status of an answer tells about the key, limits and failures', async (t) => {
  for (const [status, kind] of [
    [204, 'answered'],
    [302, 'answered'],
    [404, 'answered'],
    [401, 'refused'],
    [403, 'refused'],
    [429, 'limited'],
    [500, 'failing'],
    [503, 'failing'],
  ] as const) {
    const { url } = await serve(t, status)
    assert.deepEqual(await probe({ protocol: 'openai', base_url: url }), { kind, status })
  }
})

test('a refusal proves nothing about the key without a list of models', async (t) => {
  const { url } = await serve(t, 403)
  const config = { protocol: 'bedrock', region: 'eu-central-1', base_url: url, api_key: `AKIAEXAMPLE:${SECRET}` }
  assert.deepEqual(await probe(config), { kind: 'answered', status: 403 })
})

test('nothing is sent without a required key, nor to a built-in provider', async () => {
  assert.deepEqual(await probe({ api_key: undefined }, { name: 'openai' }), {
    kind: 'no_key',
    variable: 'OPENAI_API_KEY',
  })
  assert.deepEqual(await probe({ protocol: 'simulator' }), { kind: 'built_in' })
  const nowhere = { project: 'p', credentials_file: '/nowhere/at-all.json', api_key: undefined }
  assert.deepEqual(await probe(nowhere, { name: 'vertex' }), { kind: 'no_credential' })
})

test('an unreachable host is reported by a code without details of the call; a silent one, when the time is over', async (t) => {
  const gone = await serve(t, 200)
  gone.server.close()
  assert.deepEqual(await probe({ protocol: 'openai', base_url: gone.url }), {
    kind: 'unreachable',
    reason: 'ECONNREFUSED',
  })
  const broken = await probe({ protocol: 'openai', base_url: gone.url, api_key: `${SECRET}\n${SECRET}` })
  assert.equal(broken.kind, 'unreachable')
  assert.doesNotMatch(JSON.stringify(broken), /never-told/)
  const silent = await serve(t, undefined)
  assert.deepEqual(await probe({ protocol: 'openai', base_url: silent.url }, { waitMs: 50 }), { kind: 'silent' })
  const late = resolveProvider('mine', { ...REST, protocol: 'openai', base_url: silent.url })
  const stuck = { ...late, provider: { ...late.provider, authorize: () => new Promise<void>(() => {}) } }
  assert.deepEqual(await probeProvider(stuck, 50), { kind: 'silent' })
})
