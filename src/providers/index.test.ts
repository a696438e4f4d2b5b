import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CATALOGUE } from '../../catalogue/index.ts'
import type { ChatRequest } from '../domain/chat.ts'
import { buildModelBook } from '../features/models/book.ts'
import { PROTOCOLS, PROVIDERS, type ProviderConfig, resolveProvider } from './index.ts'

const CONFIG: ProviderConfig = {
  timeout_ms: { connect: 1, first_byte: 2, idle: 3, total: 4 },
  on_disconnect: 'cancel',
}
const REQUEST: ChatRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  includeUsage: false,
  n: 1,
  maxTokens: 5,
  extra: {},
}
const TARGET = { model: 'theirs', maxOutputTokens: undefined }

for (const [id, provider] of Object.entries(PROVIDERS)) {
  test(`${id} keeps the registry's contract`, () => {
    assert.equal(provider.id, id)
    assert.notEqual(provider.name, '')
    const { baseUrl, protocol, source, transport } = provider
    if (transport === undefined && baseUrl !== undefined)
      assert.match(baseUrl, /^https:\/\/[^/]+|^http:\/\/127\.0\.0\.1:/)
    assert.doesNotMatch(baseUrl ?? '', /\/$/)
    assert.match(source.read, /^\d{4}-\d{2}-\d{2}$/)
    if (transport === undefined) assert.match(source.url, /^https:\/\//)
    for (const operation of ['renderRequest', 'parseResponse', 'streamParser', 'parseError'] as const) {
      assert.equal(typeof protocol[operation], 'function')
    }
    const { path, body, warnings } = protocol.renderRequest(REQUEST, TARGET)
    assert.match(path, /^\//)
    assert.equal(typeof JSON.parse(body), 'object')
    assert.deepEqual(warnings, [])
  })
}

test('every name of the operator’s manual is built in', () => {
  const manual = [
    ...['openai', 'anthropic', 'google', 'deepseek', 'mistral', 'groq', 'xai', 'together', 'fireworks', 'openrouter'],
    ...['cerebras', 'perplexity', 'moonshot', 'zai', 'alibaba', 'huggingface', 'ollama', 'vllm', 'azure', 'bedrock'],
    ...['vertex', 'simulator', 'sglang', 'llama-cpp'],
  ]
  for (const name of manual) assert.ok(name in PROVIDERS, name)
})

test('the variables that switch providers on are those of the operator’s manual, and no two providers share one', () => {
  const variables = Object.values(PROVIDERS).flatMap(({ apiKeyVariable }) => apiKeyVariable ?? [])
  const named = ['OPENAI', 'ANTHROPIC', 'GEMINI', 'DEEPSEEK', 'MISTRAL', 'GROQ', 'XAI', 'TOGETHER', 'FIREWORKS']
  for (const name of [...named, 'OPENROUTER']) assert.ok(variables.includes(`${name}_API_KEY`), name)
  assert.equal(new Set(variables).size, variables.length)
  for (const variable of variables) assert.match(variable, /^[A-Z][A-Z0-9_]*_(KEY|TOKEN)$/)
})

test('every model of the catalogue can be had from hosts that are built in, and is listed when one is configured', () => {
  for (const { id, deployments } of CATALOGUE) {
    for (const { provider } of deployments) {
      assert.ok(provider in PROVIDERS, `${id}: ${provider}`)
      const book = buildModelBook({ catalogue: CATALOGUE, models: [], providers: new Set([provider]), now: Date.now })
      assert.equal(book.find(id)?.deployments[0]?.provider, provider, id)
    }
  }
})

test('a credential becomes a bearer token, and none is no header', async () => {
  const headersWith = async (id: string, credential: string): Promise<unknown> => {
    const call = { url: 'https://host/v1/chat/completions', headers: {}, body: '' }
    await PROVIDERS[id]?.authorize(call, credential)
    return call.headers
  }
  assert.deepEqual(await headersWith('openai', 'k'), { authorization: 'Bearer k' })
  assert.deepEqual(await headersWith('ollama', ''), {})
})

test('thinking is switched off where an effort of none means a field of its own', () => {
  const body = PROVIDERS['deepseek']?.protocol.renderRequest({ ...REQUEST, reasoningEffort: 'none' }, TARGET).body
  const { thinking, reasoning_effort } = JSON.parse(body ?? '{}')
  assert.deepEqual([thinking, reasoning_effort], [{ type: 'disabled' }, undefined])
})

test('a provider known by name needs nothing said', () => {
  const resolved = resolveProvider('groq', { ...CONFIG, api_key: 'k' })
  assert.equal(resolved.provider, PROVIDERS['groq'])
  assert.equal(resolved.baseUrl, PROVIDERS['groq']?.baseUrl)
  assert.deepEqual(resolved.credentials, ['k'])
  assert.deepEqual(resolved.timeouts, { connect: 1, firstByte: 2, wholeAnswer: 2, idle: 3, total: 4 })
  assert.equal(resolved.onDisconnect, 'cancel')
  assert.equal(resolved.maxInFlight, undefined)
})

test('without a time for the first byte, a whole answer may take as long as all of it', () => {
  const { timeouts } = resolveProvider('groq', { ...CONFIG, timeout_ms: { connect: 1, idle: 3, total: 400_000 } })
  assert.deepEqual([timeouts.firstByte, timeouts.wholeAnswer], [60_000, 400_000])
})

test('the operator’s address and limits come before the registry’s', () => {
  const config = {
    ...CONFIG,
    protocol: 'openai',
    base_url: 'http://10.0.0.1:8000/v1//',
    max_in_flight: 7,
    on_disconnect: 'drain',
  } as const
  const resolved = resolveProvider('openai', config)
  assert.equal(resolved.provider.protocol, PROVIDERS['openai']?.protocol)
  assert.equal(resolved.provider.protocols, undefined, 'only the protocol that the operator names')
  assert.deepEqual(
    [resolved.baseUrl, resolved.maxInFlight, resolved.onDisconnect],
    ['http://10.0.0.1:8000/v1', 7, 'drain'],
  )
})

test('a further protocol of a host keeps its dialect and address', () => {
  const { provider, baseUrl } = resolveProvider('openai', { ...CONFIG, protocol: 'openai-responses' })
  assert.equal(provider.protocol, PROVIDERS['openai']?.protocols?.['openai-responses'])
  assert.deepEqual([provider.name, baseUrl, provider.protocols], ['OpenAI', 'https://api.openai.com/v1', undefined])
  const url = 'https://x.openai.azure.com/openai/v1'
  const azure = resolveProvider('azure', { ...CONFIG, base_url: url }).provider.protocols?.['openai-responses']
  assert.equal(azure?.renderRequest(REQUEST, TARGET).path, '/responses')
})

test('every protocol that the catalogue selects is one of its provider', () => {
  const selected = CATALOGUE.flatMap(({ deployments }) => deployments.filter(({ protocol }) => protocol !== undefined))
  assert.ok(selected.length > 0)
  for (const { provider, protocol = '' } of selected) assert.ok(PROVIDERS[provider]?.protocols?.[protocol], protocol)
})

test('a kind gives another name the same dialect and address', () => {
  const resolved = resolveProvider('shared', { ...CONFIG, kind: 'mistral', api_keys: ['a', 'b', 'a', ''] })
  assert.equal(resolved.name, 'shared')
  assert.equal(resolved.provider, PROVIDERS['mistral'])
  assert.deepEqual(resolved.credentials, ['a', 'b'])
})

test('a host known only by protocol and address speaks the plain format under its own name', () => {
  const resolved = resolveProvider('local', { ...CONFIG, protocol: 'openai', base_url: 'http://10.1.2.3:8000/v1' })
  assert.equal(resolved.provider.id, 'local')
  assert.deepEqual(resolved.credentials, [''])
  const { body } = resolved.provider.protocol.renderRequest(REQUEST, TARGET)
  assert.equal(JSON.parse(body).max_tokens, 5)
})

test('a protocol that a known host does not speak makes it a host of that protocol', () => {
  const resolved = resolveProvider('groq', { ...CONFIG, protocol: 'simulator' })
  assert.equal(resolved.provider.transport, PROTOCOLS['simulator']?.transport)
  assert.equal(resolveProvider('simulator', { ...CONFIG, protocol: 'simulator' }).provider, PROVIDERS['simulator'])
})

test('what is missing or unknown is said', () => {
  assert.throws(() => resolveProvider('local', CONFIG), /needs a protocol and a base_url/)
  assert.throws(() => resolveProvider('local', { ...CONFIG, protocol: 'openai' }), /needs a base_url/)
  assert.throws(
    () => resolveProvider('local', { ...CONFIG, kind: 'toString' }),
    /Unknown kind 'toString'; known are openai/,
  )
  assert.throws(() => resolveProvider('local', { ...CONFIG, protocol: 'soap' }), /Unknown protocol 'soap'/)
})
