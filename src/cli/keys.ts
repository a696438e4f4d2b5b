/** `turnpike keys`: API keys, made and revoked directly in the database. */
import { SCOPES, type Scope } from '../domain/caller.ts'
import type { KeyId } from '../domain/ids.ts'
import { ACCOUNT_SCOPES, type ApiKey, type KeyRights } from '../features/keys/key.ts'
import { createKey, findKeyAccount, listKeys, revokeKey } from '../features/keys/queries.ts'
import { nanoUsdOf, renderKey } from '../features/keys/shapes.ts'
import { parseAddressRange } from '../lib/address-ranges.ts'
import { parseDurationMs } from '../lib/duration.ts'
import { textTable } from '../lib/text-table.ts'
import { auditCommand } from './audit.ts'
import { chosenAccount, withDatabase } from './database.ts'
import type { AccountOption, KeysCreateOptions } from './program.ts'
import { wrongUsage } from './wrong-usage.ts'

const MAX_NAME_LENGTH = 100
const ALL_KEYS = Number.MAX_SAFE_INTEGER

/** Prints the key, which is not to be had again, and nothing else. */
export async function keysCreate(options: KeysCreateOptions): Promise<void> {
  const name = options.name.trim()
  if (name.length > MAX_NAME_LENGTH) throw wrongUsage(`--name: at most ${MAX_NAME_LENGTH} characters.`)
  const rights = readRights(options, Date.now())
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, options.account)
    const { key, secret } = await context.db.transaction().execute(async (inside) => {
      const created = await createKey(inside, { accountId, name, ...rights }, context)
      const { id, scopes, last4 } = created.key
      await auditCommand(context, inside, {
        accountId,
        action: 'key.created',
        subject: id,
        details: { name, scopes, last4 },
      })
      return created
    })
    print(options.json === true ? JSON.stringify({ ...renderKey(key), key: secret }) : secret)
  })
}

export async function keysList({ account, json }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, account)
    const keys = await listKeys(context.db, accountId, { limit: ALL_KEYS, order: 'desc' })
    if (json === true) print(JSON.stringify({ data: keys.map(renderKey), has_more: false, next_cursor: null }))
    else process.stdout.write(keysTable(keys, context.now()))
  })
}

/** In force within a second in every process. */
export async function keysRevoke(id: string, _options: object = {}): Promise<void> {
  await withDatabase(async (context) => {
    const { db, now } = context
    const accountId = await findKeyAccount(db, id as KeyId)
    if (accountId === undefined) throw new Error(`There is no key ${id}; 'turnpike keys list' shows them.`)
    await db.transaction().execute(async (inside) => {
      if (!(await revokeKey(inside, { accountId, id: id as KeyId }, now())))
        throw new Error(`The key ${id} is revoked already.`)
      await auditCommand(context, inside, { accountId, action: 'key.revoked', subject: id, details: {} })
    })
    print(`Revoked ${id}.`)
  })
}

function readRights(options: KeysCreateOptions, now: number): KeyRights {
  const { monthlyBudgetUsd, requestsPerMinute, expiresIn } = options
  if (requestsPerMinute === 0) throw wrongUsage('--requests-per-minute: at least 1.')
  return {
    scopes: readScopes(options.scopes ?? [], options.operator === true),
    ipAllowlist: (options.ipAllowlist ?? []).map(readRange),
    models: options.models ?? [],
    monthlyBudgetNanoUsd: monthlyBudgetUsd === undefined ? undefined : nanoUsdOf(monthlyBudgetUsd),
    requestsPerMinute,
    expiresAt: expiresIn === undefined ? undefined : now + readDurationMs(expiresIn),
  }
}

function readScopes(names: readonly string[], operator: boolean): readonly Scope[] {
  const allowed = ACCOUNT_SCOPES
  const scopes = names.map((name) => {
    const scope = allowed.find((candidate) => candidate === name)
    if (scope !== undefined) return scope
    if (name === 'operator') throw wrongUsage("--scopes: 'operator' is given with --operator.")
    throw wrongUsage(`--scopes: '${name}' is none of ${allowed.join(', ')}.`)
  })
  if (!operator) return [...new Set(scopes)]
  return scopes.length === 0 ? SCOPES : [...new Set<Scope>([...scopes, 'operator'])]
}

function readRange(text: string): string {
  if (parseAddressRange(text) !== undefined) return text
  throw wrongUsage(`--ip-allowlist: '${text}' is not an IP address or a CIDR block such as 203.0.113.0/24.`)
}

function readDurationMs(text: string): number {
  const durationMs = parseDurationMs(text)
  if (durationMs !== undefined) return durationMs
  throw wrongUsage('--expires-in: a whole number and a unit (s, m, h, d), such as 30d.')
}

function keysTable(keys: readonly ApiKey[], now: number): string {
  const rows = keys.map((key) => [
    key.id,
    key.name,
    `${key.prefix}…${key.last4}`,
    key.scopes.join(',') || 'all',
    dateText(key.createdAt),
    dateText(key.lastUsedAt),
    stateOf(key, now),
  ])
  return textTable(['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'LAST USED', 'STATE'], rows)
}

function stateOf({ revokedAt, expiresAt }: ApiKey, now: number): string {
  if (revokedAt !== undefined) return 'revoked'
  if (expiresAt === undefined) return 'active'
  return expiresAt <= now ? 'expired' : `until ${dateText(expiresAt)}`
}

function dateText(ms: number | undefined): string {
  return ms === undefined ? '-' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
