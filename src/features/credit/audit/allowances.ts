/** Amounts that plans grant for a month, kept as they are seen: a plan may have granted another one before. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { PlanTerms } from '../unit.ts'

/** To be called before a process grants anything by these terms. @param plans By name. @param now Unix milliseconds. */
export async function recordPlanAllowances(
  db: Kysely<Database>,
  plans: ReadonlyMap<string, Pick<PlanTerms, 'monthlyCreditNanoUsd'>>,
  now: number,
): Promise<void> {
  const known = new Set((await readAllowances(db)).map(({ plan, amount_nano_usd }) => `${plan} ${amount_nano_usd}`))
  const rows = [...plans].flatMap(([plan, { monthlyCreditNanoUsd: amount }]) =>
    amount === 0n || known.has(`${plan} ${amount}`) ? [] : [{ plan, amount_nano_usd: amount, first_seen_at: now }],
  )
  if (rows.length === 0) return
  const insert = db.insertInto('plan_allowance').values(rows)
  await insert.onConflict((conflict) => conflict.doNothing()).execute()
}

function readAllowances(db: Kysely<Database>) {
  return db.selectFrom('plan_allowance').select(['plan', 'amount_nano_usd']).execute()
}

/** What any plan grants or has granted. */
export async function knownAllowances(db: Kysely<Database>): Promise<ReadonlySet<bigint>> {
  return new Set((await readAllowances(db)).map(({ amount_nano_usd }) => amount_nano_usd))
}
