import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId, KeyId, TeamId } from '../../domain/ids.ts'
import { dimensionSumsJobs, sumCompletions } from './dimension-sums.ts'
import {
  type Dimension,
  type DimensionFilter,
  dimensionRows,
  groupDimensions,
  MAX_GROUPS,
  parseDimensions,
  sumDimensions,
} from './dimensions.ts'
import { focusRows } from './focus.ts'

const A = 'acc_a' as AccountId
const PERIOD = { start: Date.UTC(2026, 4, 1), end: Date.UTC(2026, 5, 1) }
const AT = Date.UTC(2026, 4, 5, 12)
const DAY = 86_400_000
const KEYS = ['key_a', 'usr_b'] as KeyId[]
const tagSets = [
  [],
  ['customer=acme', 'env=prod'],
  ['customer=acme_2'],
  ['a.customer=x', 'env=prod'],
  ['customer=zeta'],
]

/** 60 completions whose costs no float holds, and one of another account. */
async function recorded(t: TestContext) {
  const database = await temporaryDatabase(t)
  const records = Array.from({ length: 60 }, (_, at) =>
    completionRecord({
      createdAt: AT + (at % 3) * DAY,
      model: `m${at % 4}`,
      provider: `p${at % 2}`,
      keyId: KEYS[at % 2] as KeyId,
      teamId: at % 3 === 0 ? undefined : (`team_${at % 3}` as TeamId),
      costNanoUsd: 9_007_199_254_740_993n + BigInt(at),
      attribution: {
        tags: tagSets[at % 5] ?? [],
        session: at % 2 === 0 ? undefined : `s${at % 7}`,
        endUser: at % 4 === 0 ? 'f'.repeat(32) : undefined,
      },
    }),
  )
  await recordCompletions(database, [...records, completionRecord({ accountId: 'acc_b' as AccountId, createdAt: AT })])
  return database
}

/** The first call finds the accounts, the second sums their completions. */
async function sumAll({ db }: Database, limits: Parameters<typeof sumCompletions>[1] = {}) {
  await sumCompletions(db, limits)
  await sumCompletions(db, limits)
}

const NO_FILTER: DimensionFilter = {
  model: undefined,
  keyId: undefined,
  provider: undefined,
  clientRequestId: undefined,
}
type Database = Awaited<ReturnType<typeof recorded>>

async function groupsOf({ db }: Database, by: string, filter: Partial<DimensionFilter> = {}) {
  const dimensions = parseDimensions(by)
  const choice = { period: PERIOD, dimensions, filter: { ...NO_FILTER, ...filter }, kindOf: () => 'chat' as const }
  return groupDimensions(await sumDimensions(db, A, choice), dimensions)
}

test('the sum over any grouping is the sum of the ledger to the nano-dollar', async (t) => {
  const database = await recorded(t)
  const charges = await database.db.selectFrom('ledger').select('amount_nano_usd').where('account_id', '=', A).execute()
  const ledger = charges.reduce((sum, row) => sum + BigInt(row.amount_nano_usd), 0n)
  assert.notEqual(ledger, 0n)
  const names = ['tag:customer', 'tag:env', 'tag:none', 'team', 'member', 'key', 'model', 'provider', 'kind', 'session']
  const all = [...names, 'end_user', 'day', 'tag:customer,tag:env,day', 'team,model,provider', 'session,member,kind']
  const unsummed = new Map<string, unknown>()
  const isSummed = async () => (await database.db.selectFrom('usage_dimension').select('day').execute()).length > 0
  for (const by of [...all, 'sum', ...all]) {
    if (by === 'sum') {
      await sumAll(database)
      assert.ok(await isSummed())
      continue
    }
    const { groups, other } = await groupsOf(database, by)
    assert.equal(other, undefined)
    assert.deepEqual(groups, unsummed.get(by) ?? groups, by)
    unsummed.set(by, groups)
    assert.equal(
      groups.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
      ledger,
      by,
    )
    assert.equal(
      groups.reduce((sum, { requests }) => sum + requests, 0),
      60,
      by,
    )
    assert.equal(new Set(groups.map(({ values }) => JSON.stringify(values))).size, groups.length, by)
  }
})

/** Groups by the sums are those of the completions alone, and cost what the ledger has. */
async function assertExact(database: Database, by: readonly string[], filter: Partial<DimensionFilter> = {}) {
  const { db } = database
  const { summed_until: until } = await db.selectFrom('usage_progress').selectAll().executeTakeFirstOrThrow()
  const setUntil = (ms: number) => db.updateTable('usage_progress').set({ summed_until: ms }).execute()
  const charges = await db.selectFrom('ledger').select('amount_nano_usd').where('account_id', '=', A).execute()
  const ledger = charges.reduce((sum, row) => sum + row.amount_nano_usd, 0n)
  for (const each of by) {
    const { groups } = await groupsOf(database, each, filter)
    const cost = groups.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)
    if (Object.keys(filter).length === 0) assert.equal(cost, ledger, each)
    await setUntil(0)
    assert.deepEqual(groups, (await groupsOf(database, each, filter)).groups, each)
    await setUntil(until)
  }
}

test('completions that come or are corrected behind the sums are in reports at once, and then in the sums', async (t) => {
  const database = await temporaryDatabase(t)
  const record = (at: number, over: Partial<CompletionRecord> = {}) =>
    completionRecord({
      createdAt: AT + at * 1_000,
      provider: `p${at % 2}`,
      costNanoUsd: BigInt(100 + at),
      attribution: { tags: at % 3 === 0 ? [] : [`customer=c${at % 5}`], session: `s${at % 4}`, endUser: undefined },
      ...over,
    })
  const estimates = Array.from({ length: 6 }, (_, at) => record(at, { status: 'incomplete', usageSource: 'estimated' }))
  await recordCompletions(database, [...estimates, record(DAY / 1000)])
  await sumAll(database)
  const { db } = database
  const late = () => db.selectFrom('usage_late').select(['id', 'sign']).execute()
  assert.deepEqual(await late(), [])
  const exact = estimates.slice(0, 3).map(
    (row, at): CompletionRecord => ({
      ...{ ...row, status: 'completed', usageSource: 'provider', provider: 'exact' },
      costNanoUsd: BigInt(1_000 + at),
    }),
  )
  await recordCompletions(database, [...exact, record(3), record(4)])
  assert.deepEqual((await late()).map(({ sign }) => sign).toSorted(), [-1, -1, -1, 1, 1, 1, 1, 1])
  const by = ['tag:customer', 'tag:customer,day,model', 'provider', 'session', 'key', 'day']
  await assertExact(database, by)
  await assertExact(database, ['day,model'], { tag: 'customer=c1' })
  for (let round = 0; round < 5; round++) {
    const summing = sumCompletions(db, { pieceRows: 2 })
    await Promise.all([summing, ...[7, 8, 9].map((at) => recordCompletions(database, [record(round * 10 + at)]))])
    await assertExact(database, ['tag:customer,day'])
  }
  await sumAll(database)
  assert.deepEqual(await late(), [])
  await assertExact(database, by)
})

test('a month tells so many values of a tag apart; the rest is in other [limit: usage-values]', async (t) => {
  const database = await temporaryDatabase(t)
  const attribution = (at: number) => ({
    tags: [`customer=c${at}`, 'env=prod'],
    session: undefined,
    endUser: undefined,
  })
  const records = Array.from({ length: 12 }, (_, at) =>
    completionRecord({ createdAt: AT + at, costNanoUsd: BigInt(at + 1), attribution: attribution(at) }),
  )
  const newest = completionRecord({ createdAt: AT + DAY, costNanoUsd: 1n })
  await recordCompletions(database, [...records, newest])
  await sumAll(database, { maxValues: 5, pieceRows: 2 })
  await recordCompletions(database, [
    completionRecord({ createdAt: AT, costNanoUsd: 100n, attribution: attribution(0) }),
  ])
  await sumAll(database, { maxValues: 5, pieceRows: 2 })
  const { groups, other, isLimited } = await groupsOf(database, 'tag:customer')
  assert.deepEqual(
    groups.map(({ values, costNanoUsd }) => [values[0], costNanoUsd]),
    [
      ['c0', 101n],
      ['c3', 4n],
      ['c2', 3n],
      ['c1', 2n],
      [null, 1n],
    ],
  )
  assert.deepEqual([isLimited, other?.groups, other?.requests, other?.costNanoUsd], [true, 1, 8, 68n])
  assert.equal((await groupsOf(database, 'tag:env')).isLimited, false)
  const [hidden] = (await groupsOf(database, 'day', { tag: 'customer=c11' })).groups
  assert.equal(hidden?.costNanoUsd, 12n)
})

test('groups are by the exact key of a tag, and filters by its exact value', async (t) => {
  const database = await recorded(t)
  const { groups } = await groupsOf(database, 'tag:customer')
  const counts = groups.map(({ values, requests }) => [values[0], requests]).toSorted()
  assert.deepEqual(
    counts,
    [
      ['acme', 12],
      ['acme_2', 12],
      ['zeta', 12],
      [null, 24],
    ].toSorted(),
  )
  const one = async (filter: Partial<DimensionFilter>) =>
    (await groupsOf(database, 'kind', filter)).groups.reduce((sum, { requests }) => sum + requests, 0)
  assert.equal(await one({ tag: 'customer=acme' }), 12)
  assert.equal(await one({ tag: 'customer=acme%' }), 0)
  assert.equal(await one({ tag: 'ustomer=acme' }), 0)
  assert.equal(await one({ tag: 'env=prod', provider: 'p1' }), 12)
  assert.equal(await one({ teamId: 'team_1' as TeamId }), 20)
  assert.equal(await one({ memberId: 'usr_b' }), 30)
  assert.equal(await one({ sessionId: 's1', endUser: 'f'.repeat(32) }), 0)
  assert.equal(await one({ kind: 'rerank' }), 0)
  const days = (await groupsOf(database, 'day,model')).groups.map(({ values }) => values.join(' '))
  assert.deepEqual(days, days.toSorted())
})

test('the job tells as many values apart as its setting says', async (t) => {
  const record = (at: number) => {
    const attribution = { tags: [`customer=c${at}`], session: undefined, endUser: undefined }
    return completionRecord({ createdAt: AT + at, attribution })
  }
  const now = () => Date.now() + DAY // hours after the migration, so that no process of the release before runs
  for (const maxValues of [12, 13]) {
    const database = await temporaryDatabase(t)
    const kind = dimensionSumsJobs({ db: database.db, now, maxValues })['usage.dimensions']
    const job = { id: 'job_1', kind: 'usage.dimensions', name: 'schedule', payload: null, attempt: 1, createdAt: 1 }
    const run = () => kind?.handler(job, { signal: new AbortController().signal, stillMine: async () => true })
    await recordCompletions(database, [...Array(12).keys(), DAY].map(record))
    for (const _ of ['begins', 'sums']) await run()
    await recordCompletions(database, [record(12)])
    await run()
    const { groups, isLimited } = await groupsOf(database, 'tag:customer')
    assert.deepEqual([groups.length, isLimited], maxValues === 12 ? [13, true] : [14, false])
  }
})

test('what comes after the most expensive groups is one, with their exact sum [limit: dimension-groups]', async (t) => {
  const database = await temporaryDatabase(t)
  const records = Array.from({ length: MAX_GROUPS + 2 }, (_, at) =>
    completionRecord({
      createdAt: AT,
      model: `m${at % 2}`,
      promptTokens: 1,
      completionTokens: 1,
      costNanoUsd: BigInt(at + 1),
      attribution: { tags: [`customer=c${at}`], session: 's1', endUser: undefined },
    }),
  )
  await recordCompletions(database, records)
  for (const by of ['tag:customer', 'session,tag:customer', 'tag:customer,kind']) {
    const { groups, other } = await groupsOf(database, by)
    assert.deepEqual([groups.length, other?.groups, other?.requests, other?.costNanoUsd], [MAX_GROUPS, 2, 2, 3n], by)
    assert.ok(groups[0]?.values.includes(`c${MAX_GROUPS + 1}`))
  }
  const dimensions: readonly Dimension[] = ['tag:customer']
  const rows = dimensionRows(await groupsOf(database, 'tag:customer'), dimensions)
  assert.deepEqual(
    [rows[0], rows.at(-1)],
    [
      ['tag:customer', 'tokens', 'requests', 'cost_usd'],
      ['other', 4, 2, '0.000000003'],
    ],
  )
})

test('the most expensive groups and the rest are the same from sums of days, with late completions and a limit', async (t) => {
  const database = await temporaryDatabase(t)
  const record = (at: number, over: Partial<CompletionRecord> = {}) => {
    const tags = at % 50 === 0 ? [] : [`customer=c${at}`]
    const attribution = { tags, session: undefined, endUser: undefined }
    const costNanoUsd = BigInt(1 + ((at * 7_919) % 10_007))
    return completionRecord({
      createdAt: AT + (at % 3) * DAY + at,
      model: `m${at % 3}`,
      costNanoUsd,
      attribution,
      ...over,
    })
  }
  const records = Array.from({ length: MAX_GROUPS + 200 }, (_, at) => record(at))
  await recordCompletions(database, [...records, record(1, { createdAt: AT + 4 * DAY })])
  await sumAll(database, { maxValues: MAX_GROUPS + 100, pieceRows: 50 })
  await recordCompletions(database, [record(2), record(3, { model: 'late' }), record(9_999)])
  const { db } = database
  const of = async (by: string) => {
    const { groups, other, isLimited } = await groupsOf(database, by)
    const rest = other ?? { groups: 0, requests: 0, costNanoUsd: 0n }
    const all = [...groups, rest]
    return { groups, rest, isLimited, sum: all.reduce((total, each) => total + each.costNanoUsd, 0n), all }
  }
  const [{ value: kept } = { value: 0 }] = await db
    .selectFrom('usage_dimension')
    .select(sql<number>`count(distinct value)`.as('value'))
    .where('dimension', '=', 'tag:customer')
    .where('value', '<>', '*')
    .execute()
  assert.ok(Number(kept) > MAX_GROUPS, String(kept))
  const limited = await of('tag:customer')
  assert.deepEqual([limited.isLimited, limited.rest.groups], [true, Number(kept) + 2 - MAX_GROUPS + 1])
  await db.deleteFrom('usage_dimension').execute()
  await db.updateTable('usage_progress').set({ summed_until: 0 }).execute()
  await db.deleteFrom('usage_late').execute()
  const byRows = await of('tag:customer')
  assert.equal(limited.sum, byRows.sum)
  const requests = (each: typeof byRows) => each.all.reduce((total, one) => total + one.requests, 0)
  assert.equal(requests(limited), requests(byRows))
  await sumAll(database)
  await recordCompletions(database, [record(4), record(9_998, { model: 'late' })])
  for (const by of ['tag:customer', 'tag:customer,model', 'day,tag:customer']) {
    const summed = await of(by)
    const { summed_until: until } = await db.selectFrom('usage_progress').selectAll().executeTakeFirstOrThrow()
    await db.updateTable('usage_progress').set({ summed_until: 0 }).execute()
    const expected = await of(by)
    assert.deepEqual([summed.groups, summed.rest], [expected.groups, expected.rest], by)
    assert.ok(summed.rest.groups > 100 && summed.groups.length === MAX_GROUPS, by)
    await db.updateTable('usage_progress').set({ summed_until: until }).execute()
  }
})

/** By column. */
async function focusOf({ db }: Database, filter: Partial<DimensionFilter> = {}) {
  const choice = { accountId: A, period: PERIOD, filter: { ...NO_FILTER, ...filter }, kindOf: () => 'chat' as const }
  const [header = [], ...rows] = await focusRows(db, choice)
  assert.ok(rows.every((row) => row.length === header.length))
  const fieldOf = (row: readonly unknown[], name: string) => String(row[header.indexOf(name)])
  const sumOf = (chosen: typeof rows) => chosen.reduce((sum, row) => sum + nanoOf(fieldOf(row, 'BilledCost')), 0n)
  return { header, rows, fieldOf, sumOf, sum: sumOf(rows) }
}

const nanoOf = (usd: string) => BigInt(usd.replace('.', '').padEnd(usd.indexOf('.') + 9, '0'))

test('a FOCUS file has the names and times of the specification and the sum of the ledger', async (t) => {
  const database = await recorded(t)
  const { db } = database
  const none = { requests_per_minute: null, data_policy: null, archived_at: null }
  const team = { account_id: A, models: '[]', endpoints: '[]', created_at: 1, changed_at: 1, ...none }
  await db
    .insertInto('team')
    .values({ ...team, id: 'team_1' as TeamId, name: 'Search' })
    .execute()
  const { header, rows, fieldOf, sum } = await focusOf(database)
  const mandatory =
    'BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory ' +
    'ChargeClass ChargeDescription ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName ' +
    'ListCost PricingQuantity PricingUnit ProviderName PublisherName ServiceCategory ServiceName'
  const missing = [...mandatory.split(' '), 'SubAccountId', 'SubAccountName', 'Tags'].filter(
    (name) => !header.includes(name),
  )
  assert.deepEqual(missing, [])
  const documented = readFileSync(new URL('../../../docs/chargeback.md', import.meta.url), 'utf8')
  for (const name of header) assert.ok(documented.includes(`\`${name}\``), `${name} is documented`)
  const charges = await db.selectFrom('ledger').select('amount_nano_usd').where('account_id', '=', A).execute()
  assert.equal(
    sum,
    charges.reduce((total, row) => total + BigInt(row.amount_nano_usd), 0n),
  )
  const shown = new Set(rows.map((row) => fieldOf(row, 'Tags')))
  assert.ok(shown.has('{"customer":"acme","env":"prod"}'))
  assert.deepEqual(
    [...new Set(rows.map((row) => `${fieldOf(row, 'SubAccountId')} ${fieldOf(row, 'SubAccountName')}`))].toSorted(),
    [' ', 'team_1 Search', 'team_2 '],
  )
  for (const row of rows) {
    assert.equal(fieldOf(row, 'BillingAccountName'), A)
    const period = [fieldOf(row, 'BillingPeriodStart'), fieldOf(row, 'BillingPeriodEnd')]
    assert.deepEqual(period, ['2026-05-01T00:00:00Z', '2026-06-01T00:00:00Z'])
    assert.match(fieldOf(row, 'ChargePeriodStart'), /^2026-05-0[567]T00:00:00Z$/)
    assert.match(fieldOf(row, 'ChargePeriodEnd'), /^2026-05-0[678]T00:00:00Z$/)
  }
})

test('a FOCUS file has the filters of reports, and the files of teams add up to that of the account', async (t) => {
  const database = await recorded(t)
  const filters: readonly Partial<DimensionFilter>[] = [
    { teamId: 'team_1' as TeamId },
    { memberId: 'usr_b' },
    { keyId: 'key_a' as KeyId },
    { model: 'm1' },
    { provider: 'p1' },
    { kind: 'chat' },
    { kind: 'rerank' },
    { tag: 'customer=acme' },
    { sessionId: 's1' },
    { endUser: 'f'.repeat(32) },
    { tag: 'env=prod', model: 'm1', teamId: 'team_2' as TeamId },
  ]
  for (const filter of filters) {
    const { groups } = await groupsOf(database, 'kind', filter)
    const expected = groups.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)
    assert.equal(expected === 0n, filter.kind === 'rerank', JSON.stringify(filter))
    assert.equal((await focusOf(database, filter)).sum, expected, JSON.stringify(filter))
  }
  const { rows, sum, sumOf, fieldOf } = await focusOf(database)
  const ofTeams = await Promise.all(
    ['team_1', 'team_2'].map(async (id) => (await focusOf(database, { teamId: id as TeamId })).sum),
  )
  const ofNone = sumOf(rows.filter((row) => fieldOf(row, 'SubAccountId') === ''))
  assert.equal(
    ofTeams.reduce((total, each) => total + each, ofNone),
    sum,
  )
})

test('a report has up to three different dimensions [limit: usage-dimensions]', () => {
  assert.deepEqual(parseDimensions(['day,team', 'tag:a.b']), ['day', 'team', 'tag:a.b'])
  for (const wrong of ['', 'day,', 'day,day', 'day,team,key,model', 'tag:', 'tag:A', 'agent,day', 'colour'])
    assert.throws(() => parseDimensions(wrong), { code: 'invalid_value', param: 'group_by' }, wrong)
})
