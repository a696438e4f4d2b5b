/** `turnpike whoami`, `turnpike models` and `turnpike usage`: print what a server reports. */
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { textTable } from '../../lib/table.ts'
import { dollars, jsonLine, plainLine } from '../output.ts'
import { createClient } from './client.ts'
import { chooseTarget, type Target, type TargetOptions } from './target.ts'

export interface WhoamiOptions extends TargetOptions {
  readonly json?: boolean
}

export async function whoami(options: WhoamiOptions): Promise<void> {
  const target = await chooseTarget(options)
  const me = await createClient(target).get('/me')
  if (options.json === true) return void process.stdout.write(jsonLine(me))
  const lines = describe(isRecord(me) ? me : {}, target)
  process.stdout.write(lines.map(([name, text]) => `${name.padEnd(9)} ${plainLine(text)}\n`).join(''))
}

function describe(me: Json, { url, profile }: Target): readonly (readonly [name: string, text: string])[] {
  const [user, account, credential] = ['user', 'account', 'credential'].map((name) => partOf(me, name))
  const person = textOf(user?.['email'])
  const role = textOf(me['role'])
  const expires = textOf(credential?.['expires_at'])
  const scopes: readonly unknown[] = Array.isArray(credential?.['scopes']) ? credential['scopes'] : []
  return [
    ['server', url],
    ['profile', profile?.name ?? 'none: the key in TURNPIKE_API_KEY'],
    ['user', person === '' ? 'none: a key of the account' : `${person}${role === '' ? '' : ` (${role})`}`],
    ['account', `${textOf(account?.['name'])} (${textOf(account?.['id'])}), plan ${textOf(account?.['plan'])}`],
    [
      'with',
      `${textOf(credential?.['kind'])} ${textOf(credential?.['id'])}${expires === '' ? '' : `, until ${expires}`}`,
    ],
    ['may', scopes.map(textOf).join(', ')],
  ]
}

function partOf(me: Json, name: string): Json {
  const part = me[name]
  return isRecord(part) ? part : {}
}

export interface ModelsOptions extends TargetOptions {
  readonly json?: boolean
}

export async function models(options: ModelsOptions): Promise<void> {
  const answer = await createClient(await chooseTarget(options)).get('/models')
  if (options.json === true) return void process.stdout.write(jsonLine(answer))
  const header = ['MODEL', 'OWNER', 'CONTEXT', 'MAX OUTPUT', 'INPUT $/M', 'OUTPUT $/M', 'CAN']
  process.stdout.write(textTable(header, listedModels(answer).map(rowOf)))
}

function rowOf(model: Json): readonly string[] {
  const pricing = isRecord(model['pricing']) ? model['pricing'] : {}
  const abilities = isRecord(model['capabilities']) ? Object.entries(model['capabilities']) : []
  return [
    textOf(model['id']),
    textOf(model['owned_by']),
    countText(model['context_window']),
    countText(model['max_output_tokens']),
    priceText(pricing['input_per_million']),
    priceText(pricing['output_per_million']),
    abilities.flatMap(([name, has]) => (has === true ? [name] : [])).join(','),
  ].map(plainLine)
}

const countText = (value: unknown) => (typeof value === 'number' ? String(value) : '-')
const priceText = (value: unknown) => (typeof value === 'number' ? dollars(value).slice(1) : '-')

function listedModels(answer: unknown): readonly Json[] {
  const data = isRecord(answer) ? answer['data'] : undefined
  return Array.isArray(data) ? data.filter(isRecord) : []
}

/** The first that answers in text and may be called; one without a price may not. */
export function firstForChat(answer: unknown): string | undefined {
  const found = listedModels(answer).find((model) => {
    const { architecture, pricing } = model
    const modalities = isRecord(architecture) ? architecture['output_modalities'] : undefined
    return pricing !== null && (!Array.isArray(modalities) || modalities.includes('text'))
  })
  return found === undefined ? undefined : textOf(found['id']) || undefined
}

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
