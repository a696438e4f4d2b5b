/** Chargeback export: FOCUS 1.x (FinOps Open Cost and Usage Specification), a row for each day, model, key, team and tags. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import { tagsOfText } from '../../domain/attribution.ts'
import type { AccountId, TeamId } from '../../domain/ids.ts'
import { usdText } from '../../domain/money.ts'
import type { Period } from '../../http/period.ts'
import { isoTime } from '../../http/wire-fields.ts'
import { type CsvField, harmlessText } from '../../lib/table.ts'
import { namesOfKeys } from './names.ts'
import { DAY_MS, idsBornIn } from './period.ts'
import { unitsSince } from './queries.ts'

interface FocusRow {
  readonly accountId: AccountId
  readonly period: Period
  readonly keyName: string
  readonly day: number
  readonly model: string
  readonly provider: string
  readonly key_id: string
  readonly team_id: string | null
  readonly tags: string | null
  readonly tokens: number
  readonly cost: bigint
}

/** Column by column in docs/chargeback.md. */
const COLUMNS: readonly (readonly [name: string, value: (row: FocusRow) => CsvField])[] = [
  ['BilledCost', ({ cost }) => usdText(cost)],
  ['BillingAccountId', ({ accountId }) => accountId],
  ['BillingCurrency', () => 'USD'],
  ['BillingPeriodEnd', ({ period }) => isoTime(period.end)],
  ['BillingPeriodStart', ({ period }) => isoTime(period.start)],
  ['ChargeCategory', () => 'Usage'],
  ['ChargeClass', () => ''],
  ['ChargeDescription', ({ model }) => harmlessText(`Tokens of ${model}`)],
  ['ChargeFrequency', () => 'Usage-Based'],
  ['ChargePeriodEnd', ({ day }) => isoTime((day + 1) * DAY_MS)],
  ['ChargePeriodStart', ({ day }) => isoTime(day * DAY_MS)],
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
  ['Tags', ({ tags }) => JSON.stringify(tagsOfText(tags))],
]

interface FocusChoice {
  readonly accountId: AccountId
  /** Undefined: all. */
  readonly teamId?: TeamId | undefined
  readonly period: Period
}

/** With a header. Sums of the stored completions. */
export async function focusRows(
  db: Kysely<Database>,
  { accountId, teamId, period }: FocusChoice,
): Promise<readonly (readonly CsvField[])[]> {
  const { above, below } = idsBornIn(period)
  const inner = db
    .selectFrom('completion')
    .select(['model', 'provider', 'key_id', 'team_id', 'tags', 'cost_nano_usd'])
    .select([unitsSince(DAY_MS).as('day'), sql<number>`prompt_tokens + completion_tokens`.as('tokens')])
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .where(within('created_at', period))
    .where(({ and }) => and(given({ team_id: teamId })))
  const rows = await db
    .selectFrom(inner.as('part'))
    .select(['day', 'model', 'provider', 'key_id', 'team_id', 'tags'])
    .select(({ fn }) => [fn.sum<number>('tokens').as('tokens'), fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd')])
    .groupBy(['day', 'model', 'provider', 'key_id', 'team_id', 'tags'])
    .orderBy('day')
    .execute()
  const names = await namesOfKeys(
    db,
    accountId,
    rows.map(({ key_id: id }) => id),
  )
  const lines = rows.map((row) => {
    const whole: FocusRow = {
      ...row,
      accountId,
      period,
      keyName: names.get(row.key_id) ?? '',
      day: Number(row.day),
      tokens: Number(row.tokens),
      cost: BigInt(row.cost_nano_usd),
    }
    return COLUMNS.map(([, value]) => value(whole))
  })
  return [COLUMNS.map(([name]) => name), ...lines]
}
