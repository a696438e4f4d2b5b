/**
 * What a key can come to through agents: chains of keys, agents and follow-ups, before and after its owner limits it, with
 * real runs in a worker of this process and a provider that withholds its answers while a gate is closed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { agentReference } from '../../src/domain/agent.ts'
import type { AccountId, KeyId } from '../../src/domain/ids.ts'
import { type ActiveKey, loadKeyById } from '../../src/features/keys/authenticator.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'
import { gitRun, NAME } from '../support/agents/git-run.ts'
import { type AppForTests, openApp } from '../support/browser/signed-in.ts'
import { eventually } from '../support/client.ts'
import { testIds } from '../support/database.ts'
import { model, oneModel } from '../support/gateway.ts'
import { answerJson, completion, counts } from '../support/providers/answers.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'

const CHAINS = 6
const WITHIN_MS = 120_000
const BUDGET_USD = 0.02
/** What a run does with the rights of its asker. */
const RUN_RIGHTS = ['chat', 'agents:read', 'agents:write'] as const
const DONE = { name: 'finish', arguments: JSON.stringify({ summary: 'Done.' }) }
const FINISHES = answerJson(
  completion(
    { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: DONE }] },
    { usage: counts(4_000, 50) },
  ),
)

const limit = fc.record(
  {
    monthly_budget_usd: fc.constantFrom(0, BUDGET_USD),
    models: fc.constant(['m1']),
    requests_per_minute: fc.constant(1),
    expires_at: fc.constant('2099-01-01T00:00:00.000Z'),
    scopes: fc.subarray([...RUN_RIGHTS], { minLength: 1 }),
  },
  { requiredKeys: [] },
)
const pick = fc.nat(20)
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create key' as const), with: pick, limit }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('create agent' as const),
      with: pick,
      model: fc.constantFrom('m1', 'm2'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('follow up' as const), with: pick, of: pick }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Limit = typeof limit extends fc.Arbitrary<infer Value> ? Value : never

interface Site {
  readonly app: AppForTests
  readonly provider: FakeProvider
  /** While it is closed no call of a model is answered. */
  readonly gate: { open(): void; close(): void }
}

async function openSite(t: TestContext): Promise<Site> {
  let answering = Promise.withResolvers<void>()
  const gate = {
    open: () => answering.resolve(),
    close: () => {
      answering = Promise.withResolvers()
    },
  }
  const provider = await startFakeProvider(async (call, reply) => {
    await answering.promise
    await FINISHES(call, reply)
  })
  const { root } = gitRun(t)
  const folder = mkdtempSync(join(tmpdir(), 'agent-rights-'))
  const path = join(folder, 'turnpike.yaml')
  const agents = { git_url: `file://${root}/{repository}.git`, allow_local_git: true, concurrency: 50 }
  const models = ['m1', 'm2'].map((id) => model(id, 'up', `their-${id}`))
  const over = { models, agents: { ...agents, sandbox: { backend: 'none' } } }
  writeFileSync(path, JSON.stringify(oneModel(provider.url, {}, over)))
  const app = await openApp(t, { settings: { TURNPIKE_CONFIG: path } })
  // After the application, whose calls wait at the gate.
  t.after(async () => {
    gate.open()
    await provider.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { app, provider, gate }
}

/** What the first key has come to, and an account with somebody else in it who may do everything. */
interface Chain extends Site {
  readonly accountId: AccountId
  /** Of the owner. */
  readonly owner: string
  readonly keys: { readonly id: KeyId; readonly secret: string }[]
  readonly agents: string[]
  /** Whether a call of some run may wait for the rate of its key. */
  isRateLimited: boolean
}

const at = <Item>(items: readonly Item[], index: number): Item => items[index % items.length] as Item

async function createAgent({ app }: Site, token: string, named = 'm1') {
  const body = { name: 'a', repository: NAME, prompt: 'Go on.', model: named }
  const answer = await app.ask('POST', '/v1/agents', { token, body })
  return { status: answer.statusCode, id: answer.statusCode === 201 ? (answer.json().id as string) : undefined }
}

async function take(chain: Chain, what: Step): Promise<number> {
  const token = at(chain.keys, what.with).secret
  switch (what.kind) {
    case 'create key': {
      const answer = await chain.app.ask('POST', '/v1/keys', { token, body: { name: 'k', ...what.limit } })
      if (answer.statusCode !== 201) return answer.statusCode
      chain.keys.push({ id: answer.json().id, secret: answer.json().key })
      chain.isRateLimited ||= what.limit.requests_per_minute !== undefined
      return answer.statusCode
    }
    case 'create agent': {
      const { status, id } = await createAgent(chain, token, what.model)
      if (id !== undefined) chain.agents.push(id)
      return status
    }
    case 'follow up': {
      const path = `/v1/agents/${at(chain.agents, what.of)}/followup`
      return (await chain.app.ask('POST', path, { token, body: { prompt: 'More.' } })).statusCode
    }
  }
}

const openAgents = async ({ app, accountId }: Chain): Promise<readonly { readonly id: string }[]> =>
  app.database.db
    .selectFrom('agent')
    .select('id')
    .where('account_id', '=', accountId)
    .where('status', 'in', ['queued', 'running'])
    .execute()

async function allEnded(chain: Chain): Promise<void> {
  const isNone = ({ length }: readonly unknown[]) => length === 0
  assert.deepEqual(await eventually(() => openAgents(chain), isNone, WITHIN_MS), [])
}

async function begin(site: Site): Promise<Chain> {
  const { app, gate } = site
  gate.open()
  const accountId = await app.account('Run')
  const owner = await app.key(accountId)
  const born = { now: Date.now, ids: testIds }
  const { key, secret } = await createKey(app.database.db, { ...FULL_ACCESS, accountId, name: 'first' }, born)
  const chain: Chain = { ...site, accountId, owner, keys: [{ id: key.id, secret }], agents: [], isRateLimited: false }
  const { id } = await createAgent(chain, owner)
  assert.ok(id !== undefined)
  await allEnded(chain)
  chain.agents.push(id)
  return chain
}

/** The owner's, whose model has been called and does not answer yet. */
async function startOwners(chain: Chain): Promise<void> {
  const before = chain.provider.calls.length
  const { id } = await createAgent(chain, chain.owner)
  assert.ok(id !== undefined)
  await chain.provider.call(before)
  assert.equal((await chain.app.ask('GET', `/v1/agents/${id}`, { token: chain.owner })).json().status, 'running')
  chain.agents.push(id)
}

interface Done {
  /** Messages by one of the chain's keys, with the key whose rights their run has. */
  readonly messages: readonly { readonly id: string; readonly runs: string }[]
  readonly completions: readonly {
    id: string
    key_id: KeyId
    model: string
    cost_nano_usd: bigint
    created_at: number
  }[]
}

async function doneIn({ app: { database }, accountId, keys }: Chain): Promise<Done> {
  const { db } = database
  const own = new Set<string>(keys.map(({ id }) => id))
  const rows = await db
    .selectFrom('agent_message')
    .innerJoin('run', 'run.id', 'agent_message.run_id')
    .select(['agent_message.agent_id', 'agent_message.number', 'author', 'run_id'])
    .where('agent_message.account_id', '=', accountId)
    .execute()
  const completions = await db
    .selectFrom('completion')
    .select(['id', 'key_id', 'model', 'cost_nano_usd', 'client_request_id', 'created_at'])
    .where('account_id', '=', accountId)
    .execute()
  const messages = rows.flatMap(({ agent_id, number, author, run_id }) => {
    const { keyId } = JSON.parse(author ?? '{}') as { readonly keyId?: string }
    if (keyId === undefined || !own.has(keyId)) return []
    const ofRun = completions.filter((row) => row.client_request_id === agentReference(agent_id, run_id))
    return ofRun.map(({ key_id: runs }) => ({ id: `${agent_id} ${number}`, runs }))
  })
  return { messages, completions: completions.filter(({ key_id }) => own.has(key_id)) }
}

const costOf = ({ completions }: Done): bigint => completions.reduce((sum, { cost_nano_usd: cost }) => sum + cost, 0n)

/** Nothing that was done since exceeds what the first key has now. */
function assertWithin(first: ActiveKey, before: Done, after: Done, own: ReadonlySet<string>): void {
  const { caller } = first
  const known = new Set([...before.messages, ...before.completions].map(({ id }) => id))
  const isLess = caller.isLimited === true || RUN_RIGHTS.some((right) => !caller.scopes.has(right))
  const foreign = after.messages.filter(({ id, runs }) => !known.has(id) && !own.has(runs))
  if (isLess) assert.deepEqual(foreign, [], 'no run of somebody who may do more reads a message of it')
  const fresh = after.completions.filter(({ id }) => !known.has(id))
  if (!caller.scopes.has('agents:write')) assert.deepEqual(fresh, [])
  for (const { model: called } of fresh) assert.ok(caller.models?.has(called) ?? true, called)
  if (caller.requestsPerMinute !== undefined) assert.ok(fresh.length <= 2 * caller.requestsPerMinute)
  const { monthlyBudgetNanoUsd: budget } = caller
  if (budget !== undefined && fresh.length > 0) assert.ok(costOf(after) <= budget, `${costOf(after)} of ${budget}`)
}

/** Revokes the first key: what it has made calls no model any more. */
async function assertEnds(chain: Chain): Promise<void> {
  const { app, gate, owner, keys } = chain
  const first = at(keys, 0)
  gate.close()
  for (const { secret } of keys) await createAgent(chain, secret)
  assert.equal((await app.ask('DELETE', `/v1/keys/${first.id}`, { token: owner })).statusCode, 204)
  const endedAt = Date.now()
  for (const { secret: token } of keys) {
    assert.equal((await createAgent(chain, token)).status, 401)
    const path = `/v1/agents/${at(chain.agents, 0)}/followup`
    assert.equal((await app.ask('POST', path, { token, body: { prompt: 'More.' } })).statusCode, 401)
  }
  await settle(chain)
  for (const { created_at } of (await doneIn(chain)).completions) assert.ok(created_at <= endedAt)
}

const withChild: Step = { kind: 'create agent', with: 1, model: 'm1' }
const EXAMPLES: [Parameters<typeof run>[1]][] = [
  [
    {
      before: [{ kind: 'create key', with: 0, limit: { requests_per_minute: 1 } }],
      limits: { monthly_budget_usd: BUDGET_USD },
      after: [withChild, withChild, withChild],
    },
  ],
  [{ before: [withChild], limits: { scopes: ['chat'] }, after: [withChild] }],
]

/** @returns What the steps were answered with, and the calls of models of the chain's keys. */
async function run(site: Site, steps: { before: readonly Step[]; limits: Limit; after: readonly Step[] }) {
  const chain = await begin(site)
  const { app, gate, owner, accountId, keys } = chain
  const first = at(keys, 0)
  const answers: number[] = []
  for (const one of steps.before) answers.push(await take(chain, one))
  await settle(chain)
  const before = await doneIn(chain)
  const patched = await app.ask('PATCH', `/v1/keys/${first.id}`, { token: owner, body: steps.limits })
  assert.equal(patched.statusCode, 200, patched.body)
  chain.isRateLimited ||= steps.limits.requests_per_minute !== undefined
  gate.close()
  await startOwners(chain)
  for (const one of steps.after) answers.push(await take(chain, one))
  await settle(chain)
  const known = await loadKeyById(app.database.db, { accountId, keyId: first.id })
  assert.ok(known !== undefined)
  const after = await doneIn(chain)
  assertWithin(known, before, after, new Set(keys.map(({ id }) => id)))
  await assertEnds(chain)
  return { answers, completions: after.completions.length }
}

/** Lets all runs come to their end. A call above its rate waits for a minute: such runs are cancelled. */
async function settle(chain: Chain): Promise<void> {
  for (const { id } of chain.isRateLimited ? await openAgents(chain) : []) {
    await chain.app.ask('POST', `/v1/agents/${id}/cancel`, { token: chain.owner })
  }
  chain.gate.open()
  await allEnded(chain)
}

test('KEY-3: no chain of keys, agents and follow-ups yields more rights, models, budget, rate or time than its first key has', async (t) => {
  const site = await openSite(t)
  const all = { answers: [] as number[], completions: 0 }
  const steps = {
    before: fc.array(step, { maxLength: 3 }),
    limits: limit,
    after: fc.array(step, { minLength: 3, maxLength: 6 }),
  }
  const property = fc.asyncProperty(fc.record(steps), async (chain) => {
    const { answers, completions } = await run(site, chain)
    all.answers.push(...answers)
    all.completions += completions
  })
  // A smaller chain that fails as well is not looked for: each that does not end takes two minutes.
  await fc.assert(property, { numRuns: CHAINS, examples: EXAMPLES, endOnFailure: true })
  assert.ok(all.answers.includes(403), 'some was refused')
  assert.ok(all.answers.some((status) => status < 300) && all.completions > 0, 'some was done')
})
