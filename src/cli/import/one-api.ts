/** Channels, tokens and quotas of One API: its SQLite file, or a JSON object with the rows of its tables. */
import { hash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { type NanoUsd, parseNanoUsd } from '../../domain/money.ts'
import { parseAddressRange } from '../../lib/ip-address.ts'
import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { addDeployment, addProvider, catalogueEntry, createDraft, type ImportDraft, literal } from './draft.ts'

/** Tables by name: `channels`, `tokens`, `users`. */
type Tables = Readonly<Record<string, readonly Json[]>>

const TABLES = ['channels', 'tokens', 'users'] as const
const SQLITE_HEADER = 'SQLite format 3\0'
/** `QuotaPerUnit` of One API: quota for one dollar. */
const QUOTA_PER_USD = 500_000
const ENABLED = 1
const MAX_NAME_LENGTH = 100

/** Channel type (`relay/channeltype/define.go`) → built-in provider. */
const KINDS: Readonly<Record<number, string>> = {
  1: 'openai',
  3: 'azure',
  14: 'anthropic',
  16: 'zai',
  17: 'alibaba',
  20: 'openrouter',
  24: 'google',
  25: 'moonshot',
  28: 'mistral',
  29: 'groq',
  30: 'ollama',
  33: 'bedrock',
  35: 'cohere',
  36: 'deepseek',
  39: 'together',
  42: 'vertex',
  45: 'xai',
  49: 'alibaba',
}
/** Types with OpenAI's API at an address of their own. */
const COMPATIBLE: ReadonlySet<number> = new Set([2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 22, 31, 32, 40, 41, 43, 44, 50])

/** Reads a SQLite file without changing it, or JSON. */
export async function readOneApi(file: string): Promise<Tables> {
  if (!(await isSqlite(file))) {
    const parsed = parseJson(await readFile(file, 'utf8'))
    if (!isRecord(parsed)) throw new Error('The file is neither a SQLite database nor a JSON object of tables.')
    return Object.fromEntries(TABLES.map((name) => [name, recordsOf(parsed[name])]))
  }
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const known = new Set(
      database
        .prepare("select name from sqlite_master where type = 'table'")
        .all()
        .map(({ name }) => name),
    )
    const rows = (name: string) => (known.has(name) ? database.prepare(`select * from ${name}`).all() : [])
    return Object.fromEntries(TABLES.map((name) => [name, rows(name) as Json[]]))
  } finally {
    database.close()
  }
}

async function isSqlite(file: string): Promise<boolean> {
  const handle = await open(file)
  try {
    const { buffer } = await handle.read(Buffer.alloc(SQLITE_HEADER.length), 0, SQLITE_HEADER.length, 0)
    return buffer.toString('latin1') === SQLITE_HEADER
  } finally {
    await handle.close()
  }
}

function recordsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** @param now Unix milliseconds. */
export function importOneApi({ channels = [], tokens = [], users = [] }: Tables, now: number): ImportDraft {
  const draft = createDraft()
  for (const channel of channels) importChannel(draft, channel)
  for (const { id, settings } of draft.models.values()) {
    if (settings['pricing'] !== null) continue
    const text = 'Its price is not known, so that it cannot be called.'
    const advice = 'Set pricing of the model: input_per_million and output_per_million.'
    draft.findings.push({ status: 'changed', subject: `model: ${id}`, text, advice })
  }
  for (const token of tokens) importToken(draft, token, now)
  for (const user of users) importUser(draft, user)
  return draft
}

function importChannel(draft: ImportDraft, channel: Json): void {
  const type = Number(channel['type'])
  const subject = `channel: ${String(channel['name'] ?? channel['id'])}`
  const kind = COMPATIBLE.has(type) ? 'openai-compatible' : KINDS[type]
  const address = String(channel['base_url'] ?? '').replace(/\/+$/, '')
  if (kind === undefined || (kind === 'openai-compatible' && address === '')) {
    const text = `Channels of type ${type} are not built in.`
    draft.findings.push({ status: 'no_equal', subject, text, advice: 'Add a provider with protocol and base_url.' })
    return
  }
  if (Number(channel['status']) !== ENABLED) {
    const advice = 'Enable it and repeat the import if it is needed.'
    draft.findings.push({ status: 'no_equal', subject, text: 'It is disabled.', advice })
    return
  }
  const provider = channelProvider(draft, { kind, address, channel })
  const mapping = recordOf(channel['model_mapping'])
  const models = String(channel['models'] ?? '')
    .split(',')
    .flatMap((name) => name.trim() || [])
  for (const id of models) {
    const model = String(mapping[id] ?? id)
    const weight = Number(channel['weight']) || 1
    // One API tries the highest priority first.
    const priority = Math.max(0, 1_000 - Math.max(0, Math.min(1_000, Number(channel['priority'] ?? 0))))
    addDeployment(draft, id, {
      deployment: { provider, model, weight, priority },
      settings: {},
      base: catalogueEntry(kind, model),
    })
  }
  draft.findings.push({ status: 'taken', subject, text: `provider ${provider}: ${models.join(', ')}` })
  const group = String(channel['group'] ?? 'default')
  if (group === 'default' || group === '') return
  const advice = 'Limit keys and teams to models instead.'
  draft.findings.push({ status: 'no_equal', subject, text: `Its groups (${group}) were not taken over.`, advice })
}

interface Channel {
  readonly kind: string
  readonly address: string
  readonly channel: Json
}

function channelProvider(draft: ImportDraft, { kind, address, channel }: Channel): string {
  const key = String(channel['key'] ?? '')
  const keys = key.split('\n').flatMap((each) => literal(each.trim()) || [])
  const isCompatible = kind === 'openai-compatible' || (kind === 'openai' && address !== '')
  // One API appends /v1 to the address, which is part of ours.
  const base = isCompatible && !/\/v\d+$/.test(address) ? `${address}/v1` : address
  const { region, api_version: version = channel['other'] } = recordOf(channel['config'])
  const settings = {
    ...(isCompatible && { protocol: 'openai' }),
    ...(address !== '' && { base_url: literal(base) }),
    ...(keys.length === 1 && { api_key: keys[0] }),
    ...(keys.length > 1 && { api_keys: keys }),
    ...(kind === 'azure' && typeof version === 'string' && version !== '' && { api_version: version }),
    ...(typeof region === 'string' && region !== '' && { region }),
  }
  return addProvider(draft, isCompatible ? String(channel['name'] ?? 'channel') : kind, settings)
}

function importToken(draft: ImportDraft, token: Json, now: number): void {
  const key = String(token['key'] ?? '')
    .replace(/^sk-/, '')
    .trim()
  const name = String(token['name'] || `One API …${key.slice(-4)}`).slice(0, MAX_NAME_LENGTH)
  const subject = `token: ${name}`
  const expiry = Number(token['expired_time'] ?? -1)
  const expiresAt = expiry > 0 ? expiry * 1000 : undefined
  const unlimited = token['unlimited_quota'] === true || Number(token['unlimited_quota']) === 1
  const budget = unlimited ? undefined : (usdOfQuota(token['remain_quota']) ?? 0n)
  const isEnded = Number(token['status']) !== ENABLED || (expiresAt ?? now + 1) <= now || budget === 0n
  if (key === '' || isEnded) {
    const text = key === '' ? 'The export has no key.' : 'It is disabled, exhausted or expired.'
    draft.findings.push({ status: 'no_equal', subject, text, advice: 'Create a new key if it is needed.' })
    return
  }
  if (budget !== undefined) {
    draft.findings.push({ status: 'taken', subject, text: 'the rest of its quota, as a budget that never resets' })
  }
  const ranges = listText(token['subnet'])
  const known = ranges.filter((range) => parseAddressRange(range) !== undefined)
  draft.keys.push({
    hash: hash('sha256', `sk-${key}`, 'buffer'),
    name,
    last4: key.slice(-4),
    models: listText(token['models']),
    ipAllowlist: known,
    requestsPerMinute: undefined,
    budget: budget === undefined ? undefined : { limitNanoUsd: budget, window: 'total' },
    expiresAt,
    team: undefined,
  })
  const text = 'accepted as it is, with sk- before it'
  draft.findings.push({ status: 'taken', subject, text })
}

function importUser(draft: ImportDraft, user: Json): void {
  const name = String(user['username'] ?? user['id'])
  const subject = `user: ${name}`
  const quota = usdOfQuota(user['quota'])
  const used = usdOfQuota(user['used_quota'])
  const id = String(user['id'])
  if (used !== undefined && used > 0n) {
    draft.entries.push({ key: `one-api used ${id}`, nanoUsd: used, note: `One API: spent by ${name}`, kind: 'spent' })
  }
  if (quota !== undefined && quota > 0n) {
    draft.entries.push({
      key: `one-api quota ${id}`,
      nanoUsd: quota,
      note: `One API: quota of ${name}`,
      kind: 'granted',
    })
    const text = 'The rest of its quota became credit of the account, which all imported keys share.'
    const advice = 'To keep users apart, create an account for each.'
    draft.findings.push({ status: 'changed', subject, text, advice })
  }
  const advice = 'Invite people: docs/members.md.'
  draft.findings.push({ status: 'no_equal', subject, text: 'Passwords and sign-ins were not taken over.', advice })
}

function usdOfQuota(value: unknown): NanoUsd | undefined {
  const quota = Number(value ?? 0)
  return quota >= 0 ? parseNanoUsd((quota / QUOTA_PER_USD).toFixed(6)) : undefined
}

function listText(value: unknown): readonly string[] {
  return typeof value === 'string' ? value.split(',').flatMap((part) => part.trim() || []) : []
}

function recordOf(value: unknown): Json {
  const parsed = typeof value === 'string' ? parseJson(value) : value
  return isRecord(parsed) ? parsed : {}
}
