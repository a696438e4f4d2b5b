/** `turnpike usage`: what was used in a period, and what is left. */
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { textTable } from '../lib/text-table.ts'
import { createClient } from './remote/client.ts'
import { dollars } from './remote/money-text.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'

export interface UsageOptions extends TargetOptions {
  readonly json?: boolean
  /** Unix milliseconds. */
  readonly periodStart?: number
  readonly periodEnd?: number
  readonly groupBy?: string
}

export async function usage(options: UsageOptions): Promise<void> {
  const answer = await createClient(await chooseTarget(options)).get(`/usage${queryOf(options)}`)
  if (options.json === true) return void process.stdout.write(jsonLine(answer))
  const report = isRecord(answer) ? answer : {}
  process.stdout.write(`${totals(report)}\n${tableOf(report, options.groupBy)}`)
}

function queryOf({ periodStart, periodEnd, groupBy }: UsageOptions): string {
  const query = new URLSearchParams()
  if (periodStart !== undefined) query.set('period_start', new Date(periodStart).toISOString())
  if (periodEnd !== undefined) query.set('period_end', new Date(periodEnd).toISOString())
  if (groupBy !== undefined) query.set('group_by', groupBy)
  return query.size === 0 ? '' : `?${query}`
}

function totals(report: Json): string {
  const { credit_remaining_usd: left, held_usd: held, unlimited } = report
  const isHeld = typeof held === 'number' && held > 0
  const credit = unlimited === true ? 'no limit' : `${amount(left)} left${isHeld ? `, ${amount(held)} of it held` : ''}`
  return [
    `period  ${dayText(report['period_start'])} to ${dayText(report['period_end'])}`,
    `used    ${count(report['total_tokens'])} tokens, ${amount(report['total_cost_usd'])}`,
    `credit  ${credit}`,
    '',
  ].join('\n')
}

function tableOf({ groups, breakdown_by_model: models }: Json, groupBy = 'model'): string {
  if (Array.isArray(groups)) {
    const rows = groups
      .filter(isRecord)
      .map((group) => [key(group['key']), ...figures(group), count(group['requests'])])
    return rows.length === 0 ? '' : textTable([groupBy.toUpperCase(), 'TOKENS', 'COST', 'REQUESTS'], rows)
  }
  const rows = Array.isArray(models) ? models.filter(isRecord).map((sum) => [key(sum['model']), ...figures(sum)]) : []
  return rows.length === 0 ? '' : textTable(['MODEL', 'TOKENS', 'COST'], rows)
}

const figures = (sum: Json) => [count(sum['tokens']), amount(sum['cost_usd'])]
const key = (value: unknown) => plainLine(textOf(value))
const count = (value: unknown) => (typeof value === 'number' ? String(value) : '-')
const amount = (value: unknown) => (typeof value === 'number' ? dollars(value) : '-')
/** Midnights are days. */
const dayText = (value: unknown) => plainLine(textOf(value)).replace(/T00:00:00(\.000)?Z$/, '')
