/** Chargeback export: FOCUS 1.x (FinOps Open Cost and Usage Specification), a row for each day, model, key, team and tags. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { tagsOfText } from '../../domain/attribution.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'
import { usdText } from '../../domain/money.ts'
import type { Period } from '../../http/period.ts'
import { isoTime } from '../../http/wire-fields.ts'
import { type CsvField, harmlessText } from '../../lib/table.ts'
import { matching } from './completion-list.ts'
import type { DimensionFilter } from './dimensions.ts'
import { namesOfAccounts, namesOfKeys, namesOfTeams } from './names.ts'
import { DAY_MS, idsBornIn, monthOf } from './period.ts'
import { unitsSince } from './queries.ts'

interface FocusRow {
  readonly accountId: AccountId
  readonly accountName: string
  readonly keyName: string
  readonly teamName: string
  readonly day: number
  readonly model: string
  readonly provider: string
  readonly key_id: string
  readonly team_id: string | null
  readonly tags: string | null
  readonly tokens: number
  readonly cost: bigint
}

/** FOCUS has no fractions of a second. @param ms Unix milliseconds of a whole second. */
const timeText = (ms: number) => isoTime(ms).replace('.000Z', 'Z')
const monthOfDay = (day: number) => monthOf(day * DAY_MS)

/** Column by column in docs/chargeback.md. */
const COLUMNS: readonly (readonly [name: string, value: (row: FocusRow) => CsvField])[] = [
  ['BilledCost', ({ cost }) => usdText(cost)],
  ['BillingAccountId', ({ accountId }) => accountId],
  ['BillingAccountName', ({ accountName }) => harmlessText(accountName)],
  ['BillingCurrency', () => 'USD'],
  ['BillingPeriodEnd', ({ day }) => timeText(monthOfDay(day).end)],
  ['BillingPeriodStart', ({ day }) => timeText(monthOfDay(day).start)],
  ['ChargeCategory', () => 'Usage'],
  ['ChargeClass', () => ''],
  ['ChargeDescription', ({ model }) => harmlessText(`Tokens of ${model}`)],
  ['ChargeFrequency', () => 'Usage-Based'],
  ['ChargePeriodEnd', ({ day }) => timeText((day + 1) * DAY_MS)],
  ['ChargePeriodStart', ({ day }) => timeText(day * DAY_MS)],
  ['ConsumedQuantity', ({ tokens }) => tokens],
  ['ConsumedUnit', () => 'Tokens'],
  ['ContractedCost', ({ cost }) => usdText(cost)],
  ['EffectiveCost', ({ cost }) => usdText(cost)],
  ['InvoiceIssuerName', () => 'Turnpike'],
  ['ListCost', ({ cost }) => usdText(cost)],
  ['PricingQuantity', ({ tokens }) => tokens],
  ['PricingUnit', () => 'Tokens'],
  ['ProviderName', ({ provider }) => harmlessText(provider)],
  ['PublisherName', ({ provider }) => harmlessText(provider)],
  ['ResourceId', ({ key_id: id }) => id],
  ['ResourceName', ({ keyName }) => harmlessText(keyName)],
  ['ResourceType', () => 'API key'],
  ['ServiceCategory', () => 'AI and Machine Learning'],
  ['ServiceName', ({ model }) => harmlessText(model)],
  ['SkuId', ({ model }) => harmlessText(model)],
  ['SubAccountId', ({ team_id: id }) => id ?? ''],
  ['SubAccountName', ({ teamName }) => harmlessText(teamName)],
  ['Tags', ({ tags }) => JSON.stringify(tagsOfText(tags))],
]

interface FocusChoice {
  readonly accountId: AccountId
  readonly period: Period
  readonly filter: DimensionFilter
  readonly kindOf: (model: string) => ModelKind
}

/** With a header. Sums of the stored completions that the filter admits. */
export async function focusRows(db: Kysely<Database>, choice: FocusChoice): Promise<readonly (readonly CsvField[])[]> {
  const { accountId, filter, kindOf } = choice
  const all = await sumsByDay(db, choice)
  const rows = all.filter(({ model }) => filter.kind === undefined || kindOf(model) === filter.kind)
  const accounts = await namesOfAccounts(db, [accountId])
  const keyIds = rows.map(({ key_id: id }) => id)
  const keys = await namesOfKeys(db, accountId, keyIds)
  const teamIds = rows.flatMap(({ team_id: id }) => id ?? [])
  const teams = await namesOfTeams(db, accountId, teamIds)
  const lines = rows.map((row) => {
    const whole: FocusRow = {
      ...row,
      accountId,
      accountName: accounts.get(accountId) ?? '',
      keyName: keys.get(row.key_id) ?? '',
      teamName: teams.get(row.team_id ?? '') ?? '',
      day: Number(row.day),
      tokens: Number(row.tokens),
      cost: BigInt(row.cost_nano_usd),
    }
    return COLUMNS.map(([, value]) => value(whole))
  })
  return [COLUMNS.map(([name]) => name), ...lines]
}

function sumsByDay(db: Kysely<Database>, { accountId, period, filter }: FocusChoice) {
  const { above, below } = idsBornIn(period)
  const { memberId } = filter
  const inner = db
    .selectFrom('completion')
    .select(['model', 'provider', 'key_id', 'team_id', 'tags', 'cost_nano_usd'])
    .select([unitsSince(DAY_MS).as('day'), sql<number>`prompt_tokens + completion_tokens`.as('tokens')])
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .$call((query) => matching(query, { ...filter, period, status: undefined, agentId: undefined }))
    .$if(memberId !== undefined, (query) => query.where(isOfMember(accountId, memberId ?? '')))
  return db
    .selectFrom(inner.as('part'))
    .select(['day', 'model', 'provider', 'key_id', 'team_id', 'tags'])
    .select(({ fn }) => [fn.sum<number>('tokens').as('tokens'), fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd')])
    .groupBy(['day', 'model', 'provider', 'key_id', 'team_id', 'tags'])
    .orderBy('day')
    .execute()
}

/** By a key that the person created, their devices and their sessions. */
function isOfMember(accountId: AccountId, memberId: string) {
  return sql<boolean>`key_id in (
    select id from api_key where account_id = ${accountId} and created_by = ${memberId}
    union all select id from device where account_id = ${accountId} and user_id = ${memberId}
    union all select cast(${memberId} as text))`
}
