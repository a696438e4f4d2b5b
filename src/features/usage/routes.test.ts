import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Kysely, KyselyPlugin } from 'kysely'
import { sqliteTest, temporaryDatabase, temporaryPath, testIds } from '../../../test/support/database.ts'
import { keyCaller } from '../../../test/support/identity/caller.ts'
import { completionIdAt, completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture } from '../../../test/support/ledger/credit-service.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { within } from '../../db/shared-queries.ts'
import { agentReference } from '../../domain/agent.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountCredit, AccountCreditPort } from '../../domain/credit.ts'
import type { Right } from '../../domain/identity/caller.ts'
import { type AccountId, completionIdFloor, createIdSource, type KeyId } from '../../domain/ids.ts'
import { usdText } from '../../domain/money.ts'
import { callerOf, requireCaller } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { DAY_MS, HOUR_MS } from './period.ts'
import { usageRoutes } from './routes.ts'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly body: any
}
type Get = (url: string, account?: string) => Promise<Answer>

const CREDIT: AccountCredit = {
  remainingNanoUsd: undefined,
  balanceNanoUsd: 0n,
  heldNanoUsd: 0n,
  monthlyBudgetNanoUsd: undefined,
  alertThresholds: [],
}
const SCOPES_OF: Readonly<Record<string, readonly Right[]>> = {
  acc_chat: ['chat'],
  acc_operator: ['usage:read', 'operator'],
}
const NO_LIMIT = { read: async () => CREDIT }

/** The credential is the account's name; `acc_chat` alone may not read usage, `acc_operator` alone that of all. */
async function serve(
  t: TestContext,
  db: Kysely<Database>,
  credit: Pick<AccountCreditPort, 'read'> = NO_LIMIT,
): Promise<Get> {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, (account) =>
    keyCaller({
      accountId: account as AccountId,
      scopes: new Set(SCOPES_OF[account ?? ''] ?? ['usage:read']),
    }),
  )
  const now = () => Date.UTC(2026, 4, 20)
  await app.register(usageRoutes({ db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1), credit }))
  return async (url, account = 'acc_a') => {
    const { statusCode: status, headers, body: text } = await app.inject({ url, headers: { authorization: account } })
    return { status, headers, text, body: String(headers['content-type']).includes('json') ? JSON.parse(text) : text }
  }
}

async function clear({ db }: OpenedDatabase): Promise<void> {
  await db.deleteFrom('completion').execute()
  await db.deleteFrom('usage_rollup').execute()
  await db.deleteFrom('usage_hour').execute()
}

const query = (parameters: Readonly<Record<string, string | number | undefined>>): string =>
  new URLSearchParams(
    Object.entries(parameters).flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]])),
  ).toString()
const iso = (time: number): string => new Date(time).toISOString()

const START = Date.UTC(2026, 4, 1)
const timeArbitrary = fc.integer({ min: START, max: START + 4 * DAY_MS })
const edgeArbitrary = fc.oneof(
  fc.integer({ min: START - DAY_MS, max: START + 5 * DAY_MS }),
  fc.integer({ min: -24, max: 120 }).map((hour) => START + hour * HOUR_MS),
  fc.integer({ min: -1, max: 5 }).map((day) => START + day * DAY_MS),
)
const periodArbitrary = fc
  .tuple(edgeArbitrary, edgeArbitrary)
  .map(([one, other]) => ({ start: Math.min(one, other), end: Math.max(one, other) }))

const recordArbitrary: fc.Arbitrary<CompletionRecord> = fc
  .record({
    model: fc.constantFrom('m1', 'm2', 'M2'),
    keyId: fc.constantFrom('key_a', 'key_b') as fc.Arbitrary<KeyId>,
    accountId: fc.constantFrom('acc_a', 'acc_a', 'acc_a', 'acc_b') as fc.Arbitrary<AccountId>,
    status: fc.constantFrom('completed', 'completed', 'failed', 'client_left', 'incomplete'),
    createdAt: fc.oneof(
      timeArbitrary,
      fc
        .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: -5, max: 5 }))
        .map(([day, ms]) => START + day * DAY_MS + ms),
      edgeArbitrary.map((edge) => Math.min(Math.max(edge, START), START + 4 * DAY_MS)),
    ),
    bornBeforeMs: fc.oneof(fc.constant(0), fc.integer({ min: -20_000, max: 20_000 })),
    promptTokens: fc.nat(100_000),
    completionTokens: fc.nat(100_000),
    costNanoUsd: fc.bigInt(0n, 10n ** 12n),
  })
  .map(({ bornBeforeMs, ...over }) => completionRecord({ ...over, id: completionIdAt(over.createdAt - bornBeforeMs) }))

/** What `fc` shrinks is recorded again: ids must not be. */
const fresh = (records: readonly CompletionRecord[]): readonly CompletionRecord[] => [
  ...new Map(records.map((record) => [record.id, record])).values(),
]

test('GET /usage reports the month with exact dollars', async (t) => {
  const database = await temporaryDatabase(t)
  await recordCompletions(database, [
    completionRecord({ model: 'cheap', costNanoUsd: 1n }),
    completionRecord({ model: 'dear', costNanoUsd: 300_000_000n, promptTokens: 100 }),
    completionRecord({ model: 'dear', costNanoUsd: 100_000_001n }),
    completionRecord({ model: 'old', createdAt: Date.UTC(2026, 3, 30, 23, 59, 59, 999) }),
    completionRecord({ model: 'other', accountId: 'acc_b' as AccountId }),
  ])
  const get = await serve(t, database.db)
  const { status, body } = await get('/usage')
  assert.equal(status, 200)
  assert.deepEqual(body, {
    period_start: '2026-05-01T00:00:00.000Z',
    period_end: '2026-06-01T00:00:00.000Z',
    total_tokens: 135,
    total_prompt_tokens: 120,
    total_completion_tokens: 15,
    total_requests: 3,
    total_cost_usd: 0.400000002,
    credit_remaining_usd: 1_000_000,
    unlimited: true,
    held_usd: 0,
    breakdown_by_model: [
      { model: 'dear', tokens: 120, cost_usd: 0.400000001 },
      { model: 'cheap', tokens: 15, cost_usd: 1e-9 },
    ],
  })
  const last = await get('/usage?period_start=2026-04-30T23:59:59.999Z&period_end=2026-05-01T00:00:00Z')
  assert.deepEqual(last.body.breakdown_by_model, [{ model: 'old', tokens: 15, cost_usd: 0.0000015 }])
  const empty = await get('/usage?period_start=2027-01-01&period_end=2027-01-01&group_by=day')
  assert.deepEqual([empty.status, empty.body.total_tokens, empty.body.breakdown_by_model], [200, 0, []])
  assert.deepEqual(empty.body.groups, [])
  assert.equal((await get('/usage', 'acc_chat')).status, 403)
})

test('an end alone means the month of the moment before it', async (t) => {
  const get = await serve(t, (await openCreditFixture(t)).db)
  const periodOf = async (end: string) => {
    const { period_start, period_end } = (await get(`/usage?period_end=${end}`)).body
    return [period_start, period_end]
  }
  assert.deepEqual(await periodOf('2024-02-15T12:00:00Z'), ['2024-02-01T00:00:00.000Z', '2024-02-15T12:00:00.000Z'])
  assert.deepEqual(await periodOf('2024-03-01'), ['2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'])
})

test('operators see all accounts by account, with names; the sums are those of the ledger to the nano-dollar', async (t) => {
  const { db, clock, account, spend } = await openCreditFixture(t)
  const get = await serve(t, db)
  const [first, second, idle] = [await account('free'), await account('pro'), await account('unlimited')]
  await db.updateTable('account').set({ name: '=1+1' }).where('id', '=', second.id).execute()
  const costs = [999_999_999_999_999n, 1n, 3n, 10_000_000_019n]
  for (const [at, costNanoUsd] of costs.entries()) {
    clock.now = Date.UTC(2026, 4, 5 + at, at, 30)
    await spend(first, { costNanoUsd, model: `m${at % 2}` }, { costNanoUsd: 7n })
    await spend(second, { costNanoUsd: costNanoUsd * 2n + 1n })
  }
  const ledgerOf = async ({ id }: { readonly id: AccountId }, start: number, end: number) => {
    const charges = db.selectFrom('ledger').select('amount_nano_usd').where('account_id', '=', id)
    const rows = await charges.where('kind', '=', 'charge').where(within('created_at', { start, end })).execute()
    return rows.reduce((sum, row) => sum + row.amount_nano_usd, 0n)
  }
  for (const [start, end] of [
    [Date.UTC(2026, 4), Date.UTC(2026, 5)],
    [Date.UTC(2026, 4, 6, 1, 15), Date.UTC(2026, 4, 8, 3, 30, 0, 1)],
  ] as const) {
    const url = `/usage?account=all&group_by=account&${query({ period_start: iso(start), period_end: iso(end) })}`
    const { body } = await get(url, 'acc_operator')
    const expected = [second, first].map(({ id }) => ({ key: id, name: id === first.id ? 'on free' : '=1+1' }))
    assert.deepEqual(
      body.groups.map(({ key, name }: { key: string; name: string }) => ({ key, name })),
      expected,
    )
    const [header, ...rows] = (await get(`${url}&format=csv`, 'acc_operator')).text.trim().split('\r\n')
    assert.equal(header, 'group,tokens,requests,cost_usd,name')
    const [ofFirst, ofSecond] = [await ledgerOf(first, start, end), await ledgerOf(second, start, end)]
    assert.deepEqual(
      rows.map((row) => row.split(',').filter((_, at) => at !== 1 && at !== 2)),
      [
        [second.id, usdText(ofSecond), "'=1+1"],
        [first.id, usdText(ofFirst), 'on free'],
      ],
    )
    const ofModels = (await get(url.replace('group_by=account', 'group_by=model&format=csv'), 'acc_operator')).text
    const models = ofModels.trim().split('\r\n').slice(1)
    assert.equal(
      models.map((row) => nanoOf(row.split(',')[3])).reduce((sum, one) => sum + one),
      ofFirst + ofSecond,
    )
  }
  assert.equal((await get('/usage?account=all&group_by=account', idle.id)).status, 403)
  for (const url of ['', `&account=${first.id}`, '&provider=p', '&format=csv', '&format=focus'])
    for (const caller of ['acc_operator', idle.id].slice(0, url.includes('account') ? 1 : 2)) {
      const { status, body } = await get(`/usage?group_by=account${url}`, caller)
      assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_value', 'group_by'], url)
    }
  const { body } = await get('/usage?account=all&group_by=account&interval=day', 'acc_operator')
  assert.deepEqual([body.error.code, body.error.param], ['invalid_value', 'interval'])
})

test('a FOCUS file has the filters of a report, and refuses what its rows cannot have', async (t) => {
  const database = await temporaryDatabase(t)
  const models = ['m1', 'm2', 'm2']
  await recordCompletions(
    database,
    models.map((model) => completionRecord({ model, provider: model === 'm1' ? 'p1' : 'p2' })),
  )
  const get = await serve(t, database.db)
  const lines = async (filter: string) =>
    (await get(`/usage?format=focus${filter}`)).text.trim().split('\r\n').length - 1
  assert.deepEqual(
    [await lines(''), await lines('&model=m1'), await lines('&provider=p2'), await lines('&model=m1&provider=p2')],
    [2, 1, 1, 0],
  )
  for (const [query, param] of [
    ['group_by=team', 'group_by'],
    ['group_by=model', 'group_by'],
    ['interval=day', 'interval'],
  ] as const) {
    const { status, body } = await get(`/usage?format=focus&${query}`)
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_value', param], query)
  }
})

function nanoOf(usd = ''): bigint {
  const [whole = '', fraction = ''] = usd.split('.')
  return BigInt(whole + fraction.padEnd(9, '0'))
}

test('R-D6: GET /usage shows what remains and what of it is reserved, of now, whatever the period', async (t) => {
  const fixture = await openCreditFixture(t)
  const { id } = await fixture.account('free')
  const asked: unknown[] = []
  const read: AccountCreditPort['read'] = (account) => {
    asked.push(account)
    return fixture.credit.read({ ...account, plan: 'free' })
  }
  const get = await serve(t, fixture.db, { read })
  const shown = async (url: string) => {
    const { credit_remaining_usd, held_usd } = (await get(url, id)).body
    return [credit_remaining_usd, held_usd]
  }
  assert.deepEqual(await shown('/usage'), [5, 0])
  const free = { id, plan: 'free', name: '', createdAt: 0 }
  await fixture.spend(free, { costNanoUsd: 1n })
  await fixture.reserve(free, 250)
  assert.deepEqual(await shown('/usage?period_start=2020-01-01&period_end=2020-01-02'), [4.999999999, 2.5e-7])
  assert.deepEqual(asked[0], { id, plan: 'free' })
})

/** By hand, over the rows themselves. */
function expectedGroups(
  records: readonly CompletionRecord[],
  keyOf: (record: CompletionRecord) => string,
): Map<string, { tokens: number; requests: number; cost: bigint }> {
  const groups = new Map<string, { tokens: number; requests: number; cost: bigint }>()
  for (const record of records) {
    const { tokens, requests, cost } = groups.get(keyOf(record)) ?? { tokens: 0, requests: 0, cost: 0n }
    groups.set(keyOf(record), {
      tokens: tokens + record.promptTokens + record.completionTokens,
      requests: requests + 1,
      cost: cost + record.costNanoUsd,
    })
  }
  return groups
}

const KEY_OF = {
  model: ({ model }: CompletionRecord) => model,
  key: ({ keyId }: CompletionRecord) => keyId as string,
  day: ({ createdAt }: CompletionRecord) => iso(createdAt).slice(0, 10),
} as const

test('groups of any period are the sums of its rows, and add up to the total to the last digit', async (t) => {
  const database = await temporaryDatabase(t)
  const get = await serve(t, database.db)
  const grouping = fc.constantFrom('model', 'key', 'day') as fc.Arbitrary<keyof typeof KEY_OF>
  await fc.assert(
    fc.asyncProperty(
      fc.array(recordArbitrary, { maxLength: 14 }),
      periodArbitrary,
      grouping,
      async (made, period, by) => {
        await clear(database)
        const records = fresh(made)
        await recordCompletions(database, records)
        const counted = records.filter(
          ({ accountId, createdAt }) => accountId === 'acc_a' && createdAt >= period.start && createdAt < period.end,
        )
        const expected = [...expectedGroups(counted, KEY_OF[by])]
          .map(([key, { tokens, requests, cost }]) => {
            const name = by === 'key' ? { name: null } : {}
            return { key, ...name, tokens, requests, cost_usd: Number(cost) / 1e9, cost }
          })
          .sort((a, b) => (by === 'day' || a.cost === b.cost ? (a.key < b.key ? -1 : 1) : a.cost > b.cost ? -1 : 1))
          .map(({ cost, ...group }) => group)
        const parameters = { group_by: by, period_start: iso(period.start), period_end: iso(period.end) }
        const { body } = await get(`/usage?${query(parameters)}`)
        assert.deepEqual(body.groups, expected)
        const models = expectedGroups(counted, KEY_OF.model)
        assert.equal(body.breakdown_by_model.length, models.size)
        for (const { model, tokens, cost_usd } of body.breakdown_by_model) {
          assert.deepEqual([tokens, cost_usd], [models.get(model)?.tokens, Number(models.get(model)?.cost) / 1e9])
        }
        const total = counted.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)
        assert.equal(body.total_cost_usd, Number(total) / 1e9)
        const nano = (usd: number) => BigInt(Math.round(usd * 1e9))
        const added = body.groups.reduce((sum: bigint, group: { cost_usd: number }) => sum + nano(group.cost_usd), 0n)
        assert.equal(added, total)
      },
    ),
    { numRuns: 120 },
  )
})

test('agents are groups by the runs that asked; what clients call their requests makes nobody an agent', async (t) => {
  const database = await temporaryDatabase(t)
  const ids = createIdSource(() => START, randomBytes)
  const [one, other] = [ids.agent(), ids.agent()]
  const asked = (clientRequestId: string | undefined, over: Partial<CompletionRecord> = {}) =>
    completionRecord({ createdAt: START, clientRequestId, ...over })
  const late = completionIdFloor(Date.UTC(2030, 0)).replace('chatcmpl-', 'agt_')
  const ofRun = asked(agentReference(one, ids.run()))
  await recordCompletions(database, [
    asked(undefined),
    ofRun,
    asked(agentReference(one, ids.run()), { model: 'm2', costNanoUsd: 500n }),
    asked(agentReference(other, ids.run()), { costNanoUsd: 7_000n }),
    asked(agentReference(other, ids.run()), { createdAt: START + DAY_MS }),
    asked(agentReference(one, ids.run()), { accountId: 'acc_b' as AccountId }),
    asked(one),
    asked(`${one}:run_1`),
    asked(late),
  ])
  const get = await serve(t, database.db)
  const day = `period_start=${iso(START)}&period_end=${iso(START + DAY_MS)}`
  const { body } = await get(`/usage?group_by=agent&${day}`)
  assert.deepEqual(body.groups, [
    { key: other, name: null, tokens: 15, requests: 1, cost_usd: 0.000007 },
    { key: one, name: null, tokens: 30, requests: 2, cost_usd: 0.000002 },
  ])
  assert.equal(body.total_tokens, 15 * 7)
  const lines = `group,tokens,requests,cost_usd\r\n${other},15,1,0.000007\r\n${one},30,2,0.000002\r\n`
  assert.equal((await get(`/usage?group_by=agent&format=csv&${day}`)).text, lines)
  assert.deepEqual((await get('/usage?group_by=agent&period_start=2020-01-01&period_end=2020-02-01')).body.groups, [])
  const shown = (await get(`/usage/completions/${ofRun.id}`)).body
  const reference = `${shown.agent_id}/${shown.run_id}`
  assert.deepEqual([reference, shown.client_request_id], [ofRun.clientRequestId, null])
})

test('a CSV file has the groups, by model by default, with every digit of the cost', async (t) => {
  const database = await temporaryDatabase(t)
  await recordCompletions(database, [
    completionRecord({ model: 'a "quoted", model', costNanoUsd: 1n }),
    completionRecord({ model: 'dear', costNanoUsd: 9_007_199_254_740_993n }),
    completionRecord({ model: 'dear', costNanoUsd: 0n, status: 'failed', keyId: 'key_b' as KeyId }),
  ])
  const get = await serve(t, database.db)
  const { status, headers, text } = await get('/usage?format=csv')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
  assert.equal(headers['content-disposition'], 'attachment; filename="usage-by-model-2026-05-01-2026-06-01.csv"')
  assert.equal(
    text,
    'group,tokens,requests,cost_usd\r\ndear,30,2,9007199.254740993\r\n"a ""quoted"", model",15,1,0.000000001\r\n',
  )
  const days = await get('/usage?format=csv&group_by=day')
  assert.equal(days.text, 'group,tokens,requests,cost_usd\r\n2026-05-05,45,3,9007199.254740994\r\n')
  const keys = await get('/usage?format=csv&group_by=key')
  assert.match(keys.text, /^group,tokens,requests,cost_usd\r\nkey_a,30,2,.*\r\nkey_b,15,1,0\r\n$/)
  assert.match(String((await get('/usage?format=json')).headers['content-type']), /^application\/json/)
})

test('what cannot be read in a query is 400 with its parameter', async (t) => {
  const { db } = await temporaryDatabase(t)
  const get = await serve(t, db)
  const cases = [
    ['/usage?group_by=colour', 'group_by'],
    ['/usage?group_by=tag:A', 'group_by'],
    ['/usage?group_by=agent,model', 'group_by'],
    ['/usage?group_by=model,model', 'group_by'],
    ['/usage?group_by=model,key,day,team', 'group_by'],
    ['/usage?group_by=team&interval=day', 'interval'],
    ['/usage?group_by=', 'group_by'],
    ['/usage?format=xml', 'format'],
    ['/usage?period_start=x', 'period_start'],
    ['/usage?period_start=2026-05-02&period_end=2026-05-01&format=csv', 'period_end'],
    ['/usage?interval=week', 'interval'],
    ['/usage/performance?group_by=key', 'group_by'],
    ['/usage/performance?period_start=soon', 'period_start'],
    ['/usage/performance?period_start=2026-05-02&period_end=2026-05-01', 'period_end'],
    ['/usage/completions?include=all', 'include'],
    ['/usage/completions?status=ok', 'status'],
    ['/usage/completions?status=', 'status'],
    ['/usage/completions?model=a&model=b', 'model'],
    ['/usage/completions?period_start=2026-13-01', 'period_start'],
    ['/usage/completions?period_start=2026-05-02&period_end=2026-05-01', 'period_end'],
    ['/usage/completions?limit=0', 'limit'],
    ['/usage/completions?limit=101', 'limit'],
    ['/usage/completions?limit=ten', 'limit'],
    ['/usage/completions?order=up', 'order'],
    ['/usage/completions?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'cursor'],
  ] as const
  for (const [url, param] of cases) {
    const { status, headers, body } = await get(url)
    assert.deepEqual([status, body.error?.type, body.error?.param], [400, 'invalid_request', param], url)
    assert.equal(headers['x-should-retry'], 'false')
  }
})

test('a completion is shown with every field, alone and in the list', async (t) => {
  const database = await temporaryDatabase(t)
  const whole = completionRecord({
    stream: true,
    finishReason: 'tool_calls',
    cachedTokens: 3,
    cacheWriteTokens: 2,
    reasoningTokens: 1,
    costNanoUsd: 1_234_567n,
    firstByteMs: 3.6,
    clientRequestId: 'mine',
    usageSource: 'estimated',
    status: 'client_left',
    attempts: 2,
    attemptLog: [
      { provider: 'o', model: 'theirs', outcome: 'failed', status: 0, startedMs: 0.4, durationMs: 2 },
      { provider: 'p', model: 'theirs', outcome: 'answered', status: 200, startedMs: 2.6, durationMs: 1 },
    ],
  })
  const bare = completionRecord({ status: 'failed', finishReason: undefined, costNanoUsd: 0n, createdAt: START })
  await recordCompletions(database, [whole, bare])
  const get = await serve(t, database.db)
  const shown = {
    id: whole.id,
    object: 'completion',
    created_at: '2026-05-05T12:00:00.000Z',
    key_id: 'key_a',
    key_name: null,
    model: 'm1',
    provider: 'p',
    status: 'client_left',
    stream: true,
    finish_reason: 'tool_calls',
    prompt_tokens: 10,
    completion_tokens: 5,
    cached_tokens: 3,
    cache_write_tokens: 2,
    reasoning_tokens: 1,
    cost_usd: 0.001234567,
    usage_source: 'estimated',
    unbilled_usd: 0,
    price_version: 'v1',
    duration_ms: 12,
    first_byte_ms: 4,
    attempts: 2,
    attempt_log: [
      { provider: 'o', model: 'theirs', outcome: 'failed', status: null, started_ms: 0, duration_ms: 2 },
      { provider: 'p', model: 'theirs', outcome: 'answered', status: 200, started_ms: 3, duration_ms: 1 },
    ],
    client_request_id: 'mine',
    agent_id: null,
    run_id: null,
    api: 'chat_completions',
    request_id: null,
    tags: {},
    session_id: null,
    end_user: null,
  }
  const one = await get(`/usage/completions/${whole.id}`)
  assert.equal(one.status, 200)
  assert.deepEqual(one.body, { ...shown, pricing: null })
  assert.deepEqual(Object.keys(one.body), [...Object.keys(shown), 'pricing'])
  const { body: list } = await get('/usage/completions')
  assert.deepEqual(list, { data: [shown, list.data[1]], has_more: false, next_cursor: null })
  const { id, stream, finish_reason, first_byte_ms, client_request_id, cost_usd } = list.data[1]
  assert.deepEqual([id, stream, finish_reason, first_byte_ms], [bare.id, false, null, null])
  assert.deepEqual([client_request_id, cost_usd], [null, 0])
})

test('the one call of a completion is told from its row, where it answered', async (t) => {
  const database = await temporaryDatabase(t)
  const rows: readonly (readonly [Partial<CompletionRecord>, number | undefined])[] = [
    [{ durationMs: 70, firstByteMs: 9 }, 9],
    [{ durationMs: 70 }, 70],
    [{ status: 'client_left', firstByteMs: 9 }, 9],
    [{ status: 'client_left' }, undefined],
    [{ status: 'incomplete', firstByteMs: 9 }, undefined],
    [{ status: 'failed' }, undefined],
    [{ attempts: 2 }, undefined],
  ]
  const records = rows.map(([over]) => completionRecord(over))
  await recordCompletions(database, records)
  const get = await serve(t, database.db)
  for (const [index, { id }] of records.entries()) {
    const duration_ms = rows[index]?.[1]
    const answered = { provider: 'p', model: 'm1', outcome: 'answered', status: 200, started_ms: 0, duration_ms }
    const { body } = await get(`/usage/completions/${id}`)
    assert.deepEqual(body.attempt_log, duration_ms === undefined ? [] : [answered], JSON.stringify(rows[index]))
  }
})

test('another account’s completion is answered like one that never was', async (t) => {
  const database = await temporaryDatabase(t)
  const other = completionRecord({ accountId: 'acc_b' as AccountId })
  await recordCompletions(database, [other, completionRecord(), completionRecord()])
  const get = await serve(t, database.db)
  const withoutRequestId = ({ status, body }: Answer) => ({ status, error: { ...body.error, request_id: '' } })
  const theirs = await get(`/usage/completions/${other.id}`)
  assert.equal(theirs.status, 404)
  assert.equal(theirs.body.error.type, 'not_found')
  const never = await get('/usage/completions/chatcmpl-0000000000000000000000')
  assert.deepEqual(withoutRequestId(theirs), withoutRequestId(never))
  assert.equal((await get(`/usage/completions/${other.id}`, 'acc_b')).status, 200)
  assert.equal((await get(`/usage/completions/${other.id}`, 'acc_chat')).status, 403)
  assert.equal((await get('/usage/completions', 'acc_chat')).status, 403)
  const page = await get('/usage/completions?limit=1')
  const stolen = await get(`/usage/completions?limit=1&cursor=${page.body.next_cursor}`, 'acc_b')
  assert.deepEqual([stolen.status, stolen.body.error.param], [400, 'cursor'])
})

test('a cursor is good only for the filter and order it was given out for', async (t) => {
  const database = await temporaryDatabase(t)
  await recordCompletions(database, [completionRecord(), completionRecord(), completionRecord()])
  const get = await serve(t, database.db)
  const { body } = await get('/usage/completions?limit=1&model=m1')
  const next = (parameters: string) => get(`/usage/completions?cursor=${body.next_cursor}${parameters}`)
  assert.equal((await next('&model=m1&limit=2')).body.data.length, 2)
  for (const change of ['', '&model=m2', '&model=m1&order=asc', '&model=m1&status=failed', '&model=m1&key_id=key_a']) {
    const { status, body: refused } = await next(change)
    assert.deepEqual([status, refused.error?.param], [400, 'cursor'], change)
  }
})

/** Follows the cursors to the end. `between` runs after every page. */
async function readAll(
  get: Get,
  parameters: Readonly<Record<string, string | number | undefined>>,
  between?: () => unknown,
) {
  const pages: string[][] = []
  for (let cursor: string | undefined; ; ) {
    const { status, body, text } = await get(`/usage/completions?${query({ ...parameters, cursor })}`)
    assert.equal(status, 200, text)
    pages.push(body.data.map(({ id }: { id: string }) => id))
    assert.equal(body.has_more, body.next_cursor !== null)
    if (body.next_cursor === null) return pages
    cursor = body.next_cursor
    await between?.()
  }
}

const filterArbitrary = fc.record({
  model: fc.constantFrom('m1', 'm2', 'none', undefined),
  key_id: fc.constantFrom('key_a', 'none', undefined, undefined),
  status: fc.constantFrom('completed', 'failed', 'client_left', undefined, undefined, undefined),
  period: fc.option(periodArbitrary, { nil: undefined }),
  order: fc.constantFrom('asc', 'desc', undefined),
  limit: fc.integer({ min: 1, max: 4 }),
})
type Filter = typeof filterArbitrary extends fc.Arbitrary<infer Value> ? Value : never

const parametersOf = ({ period, ...filter }: Filter) => ({
  ...filter,
  ...(period === undefined ? {} : { period_start: iso(period.start), period_end: iso(period.end) }),
})

function isListed(record: CompletionRecord, { model, key_id, status, period }: Filter): boolean {
  const { createdAt } = record
  return (
    record.accountId === 'acc_a' &&
    (model ?? record.model) === record.model &&
    (key_id ?? record.keyId) === record.keyId &&
    (status ?? record.status) === record.status &&
    (period === undefined || (createdAt >= period.start && createdAt < period.end))
  )
}

function idsInOrder(records: readonly CompletionRecord[], order: Filter['order']): string[] {
  const ids = records.map(({ id }) => id as string).sort()
  return order === 'asc' ? ids : ids.reverse()
}

/** Enough for several pages. */
const someRecords = fc.array(recordArbitrary, { minLength: 15, maxLength: 40, size: 'max' })

test('pages put together are exactly what the filter describes, in order, and all but the last are full', async (t) => {
  const database = await temporaryDatabase(t)
  const get = await serve(t, database.db)
  await fc.assert(
    fc.asyncProperty(someRecords, filterArbitrary, async (made, filter) => {
      await clear(database)
      const records = fresh(made)
      await recordCompletions(database, records)
      const pages = await readAll(get, parametersOf(filter))
      const expected = records.filter((record) => isListed(record, filter))
      assert.deepEqual(pages.flat(), idsInOrder(expected, filter.order))
      for (const page of pages.slice(0, -1)) assert.equal(page.length, filter.limit)
    }),
    { numRuns: 150 },
  )
})

test('completions that come while pages are read neither repeat nor hide any that were there', async (t) => {
  const database = await temporaryDatabase(t)
  const get = await serve(t, database.db)
  await fc.assert(
    fc.asyncProperty(someRecords, someRecords, filterArbitrary, async (made, later, filter) => {
      await clear(database)
      const records = fresh(made)
      const coming = fresh(later).filter(({ id }) => !records.some((record) => record.id === id))
      await recordCompletions(database, records)
      let writing: Promise<void> = Promise.resolve()
      const write = () => {
        const next = coming.splice(0, 3)
        if (next.length > 0) writing = writing.then(() => recordCompletions(database, next))
      }
      const seen = (await readAll(get, parametersOf(filter), write)).flat()
      await writing
      assert.equal(new Set(seen).size, seen.length)
      assert.deepEqual(seen, filter.order === 'asc' ? seen.toSorted() : seen.toSorted().reverse())
      for (const record of records) assert.equal(seen.includes(record.id), isListed(record, filter), record.id)
    }),
    { numRuns: 80 },
  )
})

/** `db` that notes the SQL of every query it runs. */
function noting(db: Kysely<Database>) {
  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      statements.push(db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return { db: db.withPlugin(plugin), statements }
}

sqliteTest('no query reads a whole table, whatever is asked for', async (t) => {
  const path = await temporaryPath(t)
  const database = await temporaryDatabase(t, path)
  const records = Array.from({ length: 60 }, (_, index) =>
    completionRecord({ createdAt: START + index * 2 * HOUR_MS, status: index % 9 === 0 ? 'failed' : 'completed' }),
  )
  await recordCompletions(database, records)
  const { db, statements } = noting(database.db)
  const get = await serve(t, db)
  const period = 'period_start=2026-05-01T00:30:00Z&period_end=2026-05-03T10:20:00Z'
  const groupings = ['', '&group_by=model', '&group_by=key', '&group_by=day', '&group_by=agent']
  const filters = ['', '&model=m1', '&key_id=key_a']
  for (const grouping of [...groupings, '&interval=hour', '&interval=day&group_by=key'])
    for (const filter of filters) assert.equal((await get(`/usage?${period}${grouping}${filter}`)).status, 200)
  const minutes = 'period_start=2026-05-01T00:30:00Z&period_end=2026-05-01T01:30:00Z'
  const ofRun = '&client_request_id=agt_1/run_1'
  const ofAgent = ['&agent_id=agt_1', '&agent_id=agt_1&status=failed', '&agent_id=agt_1&client_request_id=mine']
  const searches = ['&provider=p', '&client_request_id=mine', ofRun, `${ofRun}&provider=p`, ...ofAgent]
  for (const choice of [...filters, ...searches, '&status=failed', '&status=completed'])
    for (const some of [period, minutes])
      for (const order of ['asc', 'desc'])
        assert.equal((await get(`/usage/completions?include=overview&${some}${choice}&order=${order}`)).status, 200)
  assert.equal((await get(`/usage/performance?${period}`)).status, 200)
  for (const choice of ['', 'model=m1&', 'key_id=key_a&', 'model=m1&key_id=key_a&', 'model=none&'])
    for (const status of ['', 'status=completed&', 'status=failed&'])
      for (const order of ['asc', 'desc'])
        await readAll(
          get,
          Object.fromEntries(new URLSearchParams(`${choice}${status}${period}&order=${order}&limit=7`)),
        )
  assert.equal((await get(`/usage/completions/${records[0]?.id}`)).status, 200)
  const judge = new DatabaseSync(path, { readOnly: true })
  t.after(() => judge.close())
  const tables = new Set<string>()
  for (const { sql, parameters } of statements) {
    const plan = judge.prepare(`explain query plan ${sql}`).all(...(parameters as SQLInputValue[]))
    for (const step of plan.map(({ detail }) => String(detail))) {
      const [, verb, table] = /^(SCAN|SEARCH) (completion|call|whole|usage_rollup|usage_hour)\b/.exec(step) ?? []
      if (table !== undefined) tables.add(table)
      assert.notEqual(verb, 'SCAN', `${step}: ${sql}`)
      if (table !== undefined) assert.match(step, /\(account_id=\?/, sql)
      if (table === 'call') assert.match(step, /USING COVERING INDEX completion_agent .*client_request_id<\?\)$/, sql)
      if (table === 'whole') assert.match(step, /USING PRIMARY KEY \(account_id=\? AND id=\?\)$/, sql)
      if (table === 'completion')
        assert.match(
          step,
          /AND (id=\?|id>\? AND id<\?|client_request_id=\?|client_request_id>\? AND client_request_id<\?|\(status,id\)>\(\?,\?\) AND \(status,id\)<\(\?,\?\))\)$/,
          sql,
        )
    }
    const isSorted = plan.some(({ detail }) => String(detail).includes('TEMP B-TREE FOR ORDER BY'))
    // Percentiles are ranked, of no more rows than the statement itself takes.
    const isBounded = /^select \* from \(with newest as materialized \([^)]*limit 5000\s*\)/.test(sql)
    assert.ok(!isSorted || isBounded, `sorts: ${sql}`)
    if (sql.includes(`"status" <> 'completed'`))
      assert.match(JSON.stringify(plan), /USING INDEX completion_not_completed/)
    // Of one agent: SQLite searches by the bounds that come first, which must be its own.
    if (sql.includes(`"client_request_id" > ?`))
      assert.match(sql, /"client_request_id" > \?.*"client_request_id" >= 'agt_'/)
  }
  assert.deepEqual([...tables].sort(), ['call', 'completion', 'usage_hour', 'usage_rollup', 'whole'])
})
