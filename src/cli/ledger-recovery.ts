/** `turnpike ledger recovery`: spools that were found damaged, and what became of the requests that they do not decide. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import { usdNumber } from '../domain/money.ts'
import { type DamagedSpool, type DamageReport, damagedSpools } from '../features/credit/spool-damaged.ts'
import { textTable } from '../lib/text-table.ts'
import { withDatabase } from './database.ts'
import type { JsonOption } from './program.ts'

type Undecided = DamageReport['undecided'][number]

/** `open`: its hold waits for the sweep. `charged`: see its usage. `released`: nothing was charged. */
interface Fate extends Undecided {
  readonly state: 'open' | 'charged' | 'released'
  readonly usage_source: string | null
  readonly cost_usd: number | null
}

export async function ledgerRecovery({ json }: JsonOption): Promise<void> {
  await withDatabase(async ({ db, config }) => {
    const spools = await damagedSpools(config.data_dir)
    const found = await Promise.all(spools.map((spool) => describe(db, spool)))
    process.stdout.write(json === true ? `${JSON.stringify({ object: 'list', data: found })}\n` : textOf(found))
  })
}

async function describe(db: Kysely<Database>, { path, report }: DamagedSpool) {
  const undecided: Fate[] = []
  for (const each of report?.undecided ?? []) undecided.push(await fateOf(db, each))
  return {
    path,
    instance: report?.instance ?? null,
    found_at: report?.found_at ?? null,
    problems: report?.problems ?? ['lines that could not be read, or that the ledger refused'],
    undecided,
  }
}

async function fateOf(db: Kysely<Database>, each: Undecided): Promise<Fate> {
  const { account, completion: id } = each
  const row = await db
    .selectFrom('completion')
    .select(['cost_nano_usd', 'usage_source'])
    .where('account_id', '=', account)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row !== undefined)
    return { ...each, state: 'charged', usage_source: row.usage_source, cost_usd: usdNumber(row.cost_nano_usd) }
  const hold = await db
    .selectFrom('hold')
    .select('id')
    .where('account_id', '=', account)
    .where('id', '=', id)
    .executeTakeFirst()
  return { ...each, state: hold === undefined ? 'released' : 'open', usage_source: null, cost_usd: null }
}

function textOf(found: readonly Awaited<ReturnType<typeof describe>>[]): string {
  if (found.length === 0) return 'No spool was found damaged.\n'
  return found
    .map(({ path, found_at: at, problems, undecided }) => {
      const head = [`${path}${at === null ? '' : `, found ${at}`}`, ...problems.map((problem) => `  ${problem}`)]
      const rows = undecided.map(({ account, completion, state, usage_source: source, cost_usd: cost }) => [
        completion,
        account,
        state,
        source ?? '',
        cost === null ? '' : String(cost),
      ])
      const table = rows.length === 0 ? '' : textTable(['completion', 'account', 'state', 'usage', 'usd'], rows)
      return `${head.join('\n')}\n${table}`
    })
    .join('\n')
}
