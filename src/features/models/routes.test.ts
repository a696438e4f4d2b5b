import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CATALOGUE } from '../../../catalogue/index.ts'
import { keyCaller } from '../../../test/support/identity/caller.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId, RequestId } from '../../domain/ids.ts'
import type { CredentialStatus, DeploymentStatus, ProviderStatus } from '../../domain/provider-status.ts'
import { createHttpServer } from '../../http/server.ts'
import { buildModelBook } from './book.ts'
import { modelsRoutes } from './routes.ts'

const FREE_CALLER: Caller = keyCaller({ accountId: 'acc_test' as AccountId, keyId: 'key_test' as KeyId })
let caller = FREE_CALLER
/** A day between those on which models of the catalogue go. */
const NOW = Date.UTC(2026, 10, 23)
let models = buildModelBook({
  now: () => NOW,
  catalogue: CATALOGUE,
  providers: new Set(['openai', 'openrouter', 'simulator', 'local']),
  models: [
    { id: 'meta/llama 70%', deployments: [{ provider: 'local', model: 'llama' }] },
    { id: 'team/sub/model', owned_by: 'team', deployments: [{ provider: 'local', model: 'llama' }] },
  ],
})

const app = await createHttpServer({
  newRequestId: () => 'req_test' as RequestId,
  trustProxy: [],
  corsOrigins: [],
  onError: () => {},
  draining: () => false,
})
let statuses: readonly ProviderStatus[] = []
await app.register(
  modelsRoutes({ callerOf: () => caller, models: () => models, status: () => statuses, now: () => NOW }),
)
after(() => app.close())

const SOURCE_OF_GPT_4O = CATALOGUE.find(({ id }) => id === 'gpt-4o-2024-08-06')?.source

/** @param cooldowns Of each credential. */
function provider(
  name: string,
  over: Partial<DeploymentStatus>,
  cooldowns: readonly CredentialStatus['coolingUntil'][] = [{}],
): ProviderStatus {
  const quiet = { openUntil: undefined, failures: 0, inFlight: 0, firstEventMs: undefined, wholeAnswerMs: undefined }
  const counts = { calls: 1, failedCalls: 0, lastFailure: undefined }
  return {
    name,
    baseUrl: 'https://provider.example/v1',
    maxInFlight: undefined,
    inFlight: 0,
    queued: 0,
    unbilledNanoUsd: 0n,
    credentials: cooldowns.map((coolingUntil, index) => ({ number: index + 1, coolingUntil, inFlight: 0 })),
    deployments: [{ model: 'm', breaker: 'closed', ...quiet, ...counts, ...over }],
  }
}

async function get(url: string, as: Partial<Caller> = {}) {
  caller = { ...FREE_CALLER, ...as }
  const { statusCode, body } = await app.inject({ method: 'GET', url })
  return { status: statusCode, body: JSON.parse(body) }
}
async function listed(url: string, as: Partial<Caller> = {}): Promise<string[]> {
  return (await get(url, as)).body.data.map(({ id }: { id: string }) => id)
}

const PRIORITY = { input_per_million: 4.25, output_per_million: 17, cached_input_per_million: 2.125 }

test('a model has the fields of the interface and those that other tools read', async () => {
  const { status, body } = await get('/models/gpt-4o')
  assert.equal(status, 200)
  assert.deepEqual(body, {
    id: 'gpt-4o',
    object: 'model',
    created: 1722902400,
    owned_by: 'openai',
    name: 'GPT-4o',
    kind: 'chat',
    capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
    context_window: 128000,
    context_length: 128000,
    max_output_tokens: 16384,
    pricing: {
      input_per_million: 2.5,
      output_per_million: 10,
      cached_input_per_million: 1.25,
      server_tools: { web_search: 10 },
      service_tiers: { priority: PRIORITY, fast: PRIORITY },
    },
    alias_of: 'gpt-4o-2024-08-06',
    architecture: { input_modalities: ['text', 'image', 'file'], output_modalities: ['text'] },
    supported_parameters: [
      'max_tokens',
      'response_format',
      'seed',
      'stop',
      'structured_outputs',
      'temperature',
      'tool_choice',
      'tools',
      'top_p',
    ],
    deprecation_date: '2027-01-14',
    deprecated: false,
    replacement: 'gpt-6-luna',
    price_source: SOURCE_OF_GPT_4O,
    price_overridden: false,
    providers: [{ name: 'openai', healthy: true }],
  })
})

test('a price that the operator has set says so, and has no source; none at all has neither', async () => {
  const before = models
  const pricing = { input_per_million: 1, output_per_million: 2 }
  const deployments = [{ provider: 'local', model: 'own' }]
  models = buildModelBook({
    now: () => NOW,
    catalogue: CATALOGUE,
    providers: new Set(['openai', 'local']),
    models: [
      { id: 'gpt-4o', pricing },
      { id: 'gpt-4o-mini', name: 'Mini' },
      { id: 'own', pricing, deployments },
      { id: 'unpriced', deployments },
    ],
  })
  const shown = async (id: string) => {
    const { body } = await get(`/models/${id}`)
    return [body.price_source !== null, body.price_overridden]
  }
  assert.deepEqual(await shown('gpt-4o'), [false, true])
  assert.deepEqual(await shown('gpt-4o-mini'), [true, false])
  assert.deepEqual(await shown('own'), [false, true])
  assert.deepEqual(await shown('unpriced'), [false, false])
  models = before
})

test('UP-4: providers are in the order in which they are tried, those that are left alone last, without an address', async () => {
  const before = models
  const deployments = [
    { provider: 'second', model: 'm', priority: 1 },
    { provider: 'first', model: 'm', weight: 1 },
    { provider: 'often', model: 'm', weight: 9 },
  ]
  const providers = new Set(['first', 'second', 'often'])
  models = buildModelBook({ now: () => NOW, catalogue: [], providers, models: [{ id: 'own', deployments }] })
  const seen = async (...known: readonly ProviderStatus[]) => {
    statuses = known
    const answers = [(await get('/models/own')).body, (await get('/models')).body.data[0]]
    assert.deepEqual(answers[0], answers[1])
    assert.ok(!JSON.stringify(answers).includes('example'))
    return answers[0].providers.map(({ name, healthy }: { name: string; healthy: boolean }) => `${name} ${healthy}`)
  }
  assert.deepEqual(await seen(), ['often true', 'first true', 'second true'])
  assert.deepEqual(await seen(provider('often', { breaker: 'open' })), ['first true', 'second true', 'often false'])
  assert.deepEqual(await seen(provider('often', { breaker: 'half_open' }, [{}, { m: 5 }])), [
    'often true',
    'first true',
    'second true',
  ])
  assert.deepEqual(await seen(provider('often', { breaker: 'open', model: 'other' })), [
    'often true',
    'first true',
    'second true',
  ])
  const cold = [{ m: 5 }, { '*': 5 }]
  assert.deepEqual(await seen(provider('first', {}, cold), provider('second', {}, [{ other: 5 }])), [
    'often true',
    'second true',
    'first false',
  ])
  statuses = []
  models = before
})

test('a model past its day says so, what to use instead, and in two headers; before that day one header says it', async () => {
  const before = models
  const deployments = [{ provider: 'local', model: 'own' }]
  const dated = { deployments, deprecation_date: '2026-01-31' }
  models = buildModelBook({
    now: () => NOW,
    catalogue: CATALOGUE,
    providers: new Set(['openai', 'local']),
    models: [
      { id: 'old', ...dated, replacement: 'gpt-4o', aliases: ['older'] },
      { id: 'bare', ...dated },
    ],
  })
  const seen = async (id: string) => {
    const answer = await app.inject(`/models/${id}`)
    const { deprecated, replacement } = answer.json()
    return [deprecated, replacement, answer.headers['deprecation'], answer.headers['sunset']]
  }
  const said = ['@1769817600', 'Sat, 31 Jan 2026 00:00:00 GMT']
  assert.deepEqual(await seen('old'), [true, 'gpt-4o', ...said])
  assert.deepEqual(await seen('older'), [true, 'gpt-4o', ...said])
  assert.deepEqual(await seen('bare'), [true, null, ...said])
  assert.deepEqual(await seen('gpt-4o'), [false, 'gpt-6-luna', undefined, 'Thu, 14 Jan 2027 00:00:00 GMT'])
  const { body } = await get('/models')
  const listed = body.data.filter(({ deprecated }: { deprecated: boolean }) => deprecated)
  assert.ok(listed.some(({ id }: { id: string }) => id === 'older'))
  models = before
})

test('what is not known is null', async () => {
  const { body } = await get('/models/team/sub/model')
  assert.equal(body.pricing, null)
  assert.equal(body.max_output_tokens, null)
  assert.equal(body.deprecation_date, null)
  assert.ok(!('alias_of' in body))
})

test('the list holds every model once, and each one under its own address', async () => {
  const { status, body } = await get('/models')
  assert.equal(status, 200)
  assert.equal(body.object, 'list')
  const ids = await listed('/models')
  assert.equal(new Set(ids).size, models.all.length)
  for (const entry of body.data) {
    assert.deepEqual((await get(`/models/${encodeURIComponent(entry.id)}`)).body, entry)
  }
})

test('IDs with slashes are found percent-encoded or not, with a trailing slash or without', async () => {
  for (const path of ['team/sub/model', 'team%2Fsub%2Fmodel', 'team/sub%2Fmodel', 'team/sub/model/']) {
    assert.equal((await get(`/models/${path}`)).body.id, 'team/sub/model', path)
  }
  assert.equal((await get('/models/meta/llama%2070%25')).body.id, 'meta/llama 70%')
  assert.equal((await get('/models/')).body.object, 'list')
})

test('the filters keep what they name', async () => {
  const all = await listed('/models')
  const vision = await listed('/models?capability=vision')
  assert.ok(vision.includes('gpt-4o') && !vision.includes('deepseek-v3') && all.includes('deepseek-v3'))
  assert.deepEqual(await listed('/models?owned_by=team'), ['team/sub/model'])
  assert.deepEqual(await listed('/models?owned_by=team&capability=vision'), [])
  assert.deepEqual(await listed('/models?owned_by=nobody'), [])
})

test('an unknown capability is an error that names the known ones', async () => {
  for (const name of ['telepathy', '', '__proto__']) {
    const { status, body } = await get(`/models?capability=${name}`)
    assert.equal(status, 400)
    assert.equal(body.error.type, 'invalid_request')
    assert.equal(body.error.param, 'capability')
    assert.match(body.error.message, /streaming, function_calling, vision, json_mode/)
  }
  assert.equal((await get('/models?capability=vision&capability=streaming')).status, 400)
})

test('an unknown model is 404 and the message names the nearest', async () => {
  const { status, body } = await get('/models/gpt-4o-mnii')
  assert.equal(status, 404)
  assert.equal(body.error.type, 'not_found')
  assert.match(body.error.message, /gpt-4o-mini/)
})

test('a key that is limited to some models sees those alone, also in error messages', async () => {
  const limited = { models: new Set(['gpt-4o-2024-08-06', 'turnpike-simulator']) }
  assert.deepEqual((await listed('/models', limited)).sort(), ['gpt-4o', 'gpt-4o-2024-08-06', 'turnpike-simulator'])
  const { status, body } = await get('/models/gpt-4o-mini', limited)
  assert.equal(status, 404)
  assert.ok(!body.error.message.includes('gpt-4o-mini-2024'))
  assert.deepEqual(await listed('/models', { models: new Set(['gpt-4o']) }), ['gpt-4o'])
})

test('a reload is seen at once', async () => {
  const before = models
  models = buildModelBook({ now: () => NOW, catalogue: CATALOGUE, models: [], providers: new Set(['simulator']) })
  assert.deepEqual(await listed('/models'), ['turnpike-simulator'])
  models = before
})
