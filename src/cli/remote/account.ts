/** `turnpike whoami`, `turnpike models` and `turnpike usage`: print what a server reports. */
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { textTable } from '../../lib/table.ts'
import { dollars, grouped, itemsOf, jsonLine, plainLine, recordOf } from '../output.ts'
import { clientOf, createClient } from './client.ts'
import { chooseTarget, type RemoteOptions, type Target } from './target.ts'

export async function whoami(options: RemoteOptions): Promise<void> {
  const target = await chooseTarget(options)
  const me = await createClient(target).get('/me')
  if (options.json === true) return void process.stdout.write(jsonLine(me))
  const lines = describe(recordOf(me), target)
  process.stdout.write(lines.map(([name, text]) => `${name.padEnd(9)} ${plainLine(text)}\n`).join(''))
}

function describe(me: Json, { url, profile }: Target): readonly (readonly [name: string, text: string])[] {
  const [user, account, credential] = [recordOf(me['user']), recordOf(me['account']), recordOf(me['credential'])]
  const person = textOf(user['email'])
  const role = textOf(me['role'])
  const expires = textOf(credential['expires_at'])
  const scopes: readonly unknown[] = Array.isArray(credential['scopes']) ? credential['scopes'] : []
  return [
    ['server', url],
    ['profile', profile?.name ?? 'none: the key in TURNPIKE_API_KEY'],
    ['user', person === '' ? 'none: a key of the account' : `${person}${role === '' ? '' : ` (${role})`}`],
    ['account', `${textOf(account['name'])} (${textOf(account['id'])}), plan ${textOf(account['plan'])}`],
    ['with', `${textOf(credential['kind'])} ${textOf(credential['id'])}${expires === '' ? '' : `, until ${expires}`}`],
    ['may', scopes.map(textOf).join(', ')],
  ]
}

export async function models(options: RemoteOptions): Promise<void> {
  const answer = await (await clientOf(options)).get('/models')
  if (options.json === true) return void process.stdout.write(jsonLine(answer))
  const header = ['MODEL', 'OWNER', 'CONTEXT', 'MAX OUTPUT', 'INPUT $/M', 'OUTPUT $/M', 'CAN']
  process.stdout.write(textTable(header, itemsOf(answer).map(rowOf)))
}

function rowOf(model: Json): readonly string[] {
  const pricing = recordOf(model['pricing'])
  const capabilities = Object.entries(recordOf(model['capabilities']))
  return [
    textOf(model['id']),
    textOf(model['owned_by']),
    count(model['context_window']),
    count(model['max_output_tokens']),
    priceText(pricing['input_per_million']),
    priceText(pricing['output_per_million']),
    capabilities.flatMap(([name, has]) => (has === true ? [name] : [])).join(','),
  ].map(plainLine)
}

const priceText = (value: unknown) => (typeof value === 'number' ? dollars(value).slice(1) : '-')

/** Returns the ID of the first model with a price that answers in text. */
export function firstForChat(answer: unknown): string | undefined {
  const found = itemsOf(answer).find((model) => {
    const { architecture, pricing } = model
    const modalities = recordOf(architecture)['output_modalities']
    return pricing !== null && (!Array.isArray(modalities) || modalities.includes('text'))
  })
  return found === undefined ? undefined : textOf(found['id']) || undefined
}

export interface UsageOptions extends RemoteOptions {
  /** Unix milliseconds. */
  readonly from?: number
  readonly to?: number
  readonly periodStart?: number
  readonly periodEnd?: number
  readonly groupBy?: string
  /** `all`: the sums of all accounts. */
  readonly account?: string
}

export async function usage(options: UsageOptions): Promise<void> {
  const answer = await (await clientOf(options)).get(`/usage${queryOf(options)}`)
  if (options.json === true) return void process.stdout.write(jsonLine(answer))
  const report = recordOf(answer)
  process.stdout.write(`${totals(report)}\n${tableOf(report, options.groupBy)}`)
}

function queryOf({ groupBy, account, ...period }: UsageOptions): string {
  const query = new URLSearchParams()
  const { from: periodStart = period.periodStart, to: periodEnd = period.periodEnd } = period
  if (periodStart !== undefined) query.set('period_start', new Date(periodStart).toISOString())
  if (periodEnd !== undefined) query.set('period_end', new Date(periodEnd).toISOString())
  if (groupBy !== undefined) query.set('group_by', groupBy)
  if (account !== undefined) query.set('account', account)
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
    const isByAccount = groupBy === 'account' // names of accounts are not unique
    const named = (group: Json) =>
      isByAccount ? [key(group['key']), key(group['name'])] : [key(group['name'] ?? group['key'])]
    const rows = groups.filter(isRecord).map((group) => [...named(group), ...figures(group), count(group['requests'])])
    const header = [groupBy.toUpperCase(), ...(isByAccount ? ['NAME'] : []), 'TOKENS', 'COST', 'REQUESTS']
    return rows.length === 0 ? '' : textTable(header, rows)
  }
  const rows = Array.isArray(models) ? models.filter(isRecord).map((sum) => [key(sum['model']), ...figures(sum)]) : []
  return rows.length === 0 ? '' : textTable(['MODEL', 'TOKENS', 'COST'], rows)
}

const figures = (sum: Json) => [count(sum['tokens']), amount(sum['cost_usd'])]
const key = (value: unknown) => plainLine(textOf(value))
const count = (value: unknown) => (typeof value === 'number' ? grouped(value) : '-')
const amount = (value: unknown) => (typeof value === 'number' ? dollars(value) : '-')
/** Midnights are days. */
const dayText = (value: unknown) => plainLine(textOf(value)).replace(/T00:00:00(\.000)?Z$/, '')
