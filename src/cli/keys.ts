/** `turnpike keys`: create, list and revoke API keys directly in the database. */
import { DELEGATING_RIGHTS, SCOPES, type Scope } from '../domain/identity/caller.ts'
import type { AccountId, KeyId, TeamId } from '../domain/ids.ts'
import { ACCOUNT_SCOPES, type ApiKey, isLimited, type KeyRights } from '../features/keys/key.ts'
import { createKey, findKeysNamed, listKeys, revokeKeys, rotateKey, updateKey } from '../features/keys/queries.ts'
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS, nanoUsdOf, renderKey } from '../features/keys/shapes.ts'
import { parseAddressRange } from '../lib/ip-address.ts'
import { parseDurationMs } from '../lib/time.ts'
import {
  type AccountOption,
  auditCommand,
  type CommandContext,
  chosenAccount,
  severalNamed,
  withDatabase,
} from './database.ts'
import { wrongUsage } from './option-values.ts'
import { type JsonOption, note, plainLine, plainTable, printPage, printResult } from './output.ts'
import { teamNamed } from './teams/teams.ts'

export interface KeysCreateOptions extends JsonOption {
  readonly name: string
  readonly account?: string
  readonly team?: string
  readonly scopes?: string[]
  readonly ipAllowlist?: string[]
  /** A number and a unit: `30d`. */
  readonly expiresIn?: string
  readonly monthlyBudgetUsd?: number
  readonly requestsPerMinute?: number
  readonly models?: string[]
  readonly dataCollection?: 'allow' | 'deny'
  readonly zdr?: boolean
  readonly regions?: string[]
  readonly operator?: boolean
}

const MAX_NAME_LENGTH = 100
const ALL_KEYS = Number.MAX_SAFE_INTEGER

/** Prints the new key, which is shown only once, and nothing else. */
export async function keysCreate(options: KeysCreateOptions): Promise<void> {
  const name = options.name.trim()
  if (name.length > MAX_NAME_LENGTH) throw wrongUsage(`--name: allowed: at most ${MAX_NAME_LENGTH} characters.`)
  const rights = readRights(options, Date.now())
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, options.account)
    const { key, secret } = await context.db.transaction().execute(async (inside) => {
      const teamId = await chosenTeam(inside, accountId, options.team)
      const created = await createKey(inside, { accountId, name, teamId, ...rights }, context)
      const { id, scopes, last4 } = created.key
      await auditCommand(context, inside, {
        accountId,
        action: 'key.created',
        subject: id,
        details: { name, scopes, last4 },
      })
      return created
    })
    printResult(options, { ...renderKey(key), key: secret }, secret)
  })
}

async function chosenTeam(
  db: CommandContext['db'],
  accountId: AccountId,
  text: string | undefined,
): Promise<TeamId | undefined> {
  if (text === undefined) return undefined
  const team = await teamNamed(db, text, accountId)
  if (team.archivedAt === undefined) return team.id
  throw new Error(`Team ${text} is archived. Run 'turnpike teams list' to see all teams.`)
}

export async function keysList({ account, json }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, account)
    const keys = await listKeys(context.db, accountId, { limit: ALL_KEYS, order: 'desc' })
    if (json === true) printPage(keys.map(renderKey))
    else process.stdout.write(keysTable(keys, context.now()))
  })
}

export async function keyNamed(db: CommandContext['db'], text: string): Promise<ApiKey> {
  const [key, ...others] = await findKeysNamed(db, text)
  if (key === undefined) throw new Error(`Key ${text} does not exist. Run 'turnpike keys list' to see all keys.`)
  if (others.length === 0) return key
  throw severalNamed('keys', text, [key, ...others])
}

interface RotateOptions extends JsonOption {
  /** A number and a unit: `24h`. */
  readonly overlap?: string
}

/** Prints the new secret, which is shown only once, and nothing else. */
export async function keysRotate(text: string, { overlap, ...options }: RotateOptions): Promise<void> {
  const overlapMs = readOverlapMs(overlap)
  if (overlapMs > MAX_OVERLAP_SECONDS * 1_000) throw wrongUsage('--overlap: allowed: at most 90d.')
  await withDatabase(async (context) => {
    const now = context.now()
    const { key, secret } = await context.db.transaction().execute(async (inside) => {
      const before = await keyNamed(inside, text)
      const rotated = await rotateKey(inside, { key: before, until: now + overlapMs }, now)
      if (rotated === undefined) throw new Error(`Key ${text} is revoked.`)
      const { accountId, id, name, last4 } = rotated.key
      const details = { name, last4, overlap_seconds: overlapMs / 1_000 }
      await auditCommand(context, inside, { accountId, action: 'key.rotated', subject: id, details })
      return rotated
    })
    printResult(options, { ...renderKey(key), key: secret }, secret)
    const { previous } = key
    if (previous !== undefined) note(`The secret …${previous.last4} stays valid until ${dateText(previous.until)} UTC.`)
  })
}

function readOverlapMs(text: string | undefined): number {
  if (text === undefined) return DEFAULT_OVERLAP_SECONDS * 1_000
  return /^0[smhd]?$/.test(text) ? 0 : readDurationMs(text, '--overlap')
}

export const keysDisable = (text: string, options: JsonOption) => setDisabled(text, { ...options, disabled: true })
export const keysEnable = (text: string, options: JsonOption) => setDisabled(text, { ...options, disabled: false })

interface DisableOptions extends JsonOption {
  readonly disabled: boolean
}

async function setDisabled(text: string, { disabled, ...options }: DisableOptions): Promise<void> {
  await withDatabase(async (context) => {
    const now = context.now()
    const changed = await context.db.transaction().execute(async (inside) => {
      const { accountId, id, name, ...key } = await keyNamed(inside, text)
      const disabledAt = disabled ? (key.disabledAt ?? now) : undefined
      const after = await updateKey(inside, { accountId, id, name, rights: key, disabledAt }, now)
      if (after === undefined) throw new Error(`Key ${text} is revoked.`)
      const action = disabled ? 'key.disabled' : 'key.enabled'
      await auditCommand(context, inside, { accountId, action, subject: id, details: { name } })
      return after
    })
    printResult(options, renderKey(changed), `${disabled ? 'Disabled' : 'Enabled'} ${plainLine(changed.name)}.`)
  })
}

interface RevokeOptions extends JsonOption {
  readonly cascade?: boolean
}

/** Revokes a key. Every process applies it within a second. */
export async function keysRevoke(text: string, { cascade = true, ...options }: RevokeOptions = {}): Promise<void> {
  await withDatabase(async (context) => {
    const { db, now } = context
    const { accountId, id } = await keyNamed(db, text)
    const { keys, webhooks } = await db.transaction().execute(async (inside) => {
      const revoked = await revokeKeys(inside, { accountId, id, cascade }, now())
      const { keys, webhooks } = revoked
      if (keys.length === 0) throw new Error(`Key ${id} is already revoked.`)
      for (const key of keys) {
        await auditCommand(context, inside, { accountId, action: 'key.revoked', ...revocationOf(key, id) })
      }
      for (const webhook of webhooks) {
        const event = { action: 'webhook.disabled', subject: webhook, details: { reason: 'key_revoked' } }
        await auditCommand(context, inside, { accountId, ...event })
      }
      return revoked
    })
    const named = await db.selectFrom('api_key').select(['id', 'name']).where('id', 'in', keys).execute()
    const lines = named.map(({ id: key, name }) => `Revoked ${plainLine(name)} (${key}).`).join('\n')
    printResult(options, { revoked: keys, disabled_webhooks: webhooks }, lines)
  })
}

function revocationOf(key: KeyId, revoked: KeyId) {
  return { subject: key, details: key === revoked ? {} : { with: revoked } }
}

function readRights(options: KeysCreateOptions, now: number): KeyRights {
  const { monthlyBudgetUsd, requestsPerMinute, expiresIn } = options
  if (requestsPerMinute === 0) throw wrongUsage('--requests-per-minute: allowed: at least 1.')
  const limits = {
    ipAllowlist: (options.ipAllowlist ?? []).map(readRange),
    models: options.models ?? [],
    dataPolicy: { dataCollection: options.dataCollection, zdr: options.zdr, regions: options.regions },
    monthlyBudgetNanoUsd: monthlyBudgetUsd === undefined ? undefined : nanoUsdOf(monthlyBudgetUsd),
    requestsPerMinute,
    expiresAt: expiresIn === undefined ? undefined : now + readDurationMs(expiresIn, '--expires-in'),
  }
  return { ...limits, scopes: readScopes(options, isLimited(limits)) }
}

function readScopes({ scopes: names = [], operator = false }: KeysCreateOptions, limited: boolean): readonly Scope[] {
  const scopes = [...new Set(names.map(readScope))]
  const managing = scopes.find((scope) => DELEGATING_RIGHTS.has(scope))
  if (limited && managing !== undefined) {
    throw wrongUsage(`--scopes: '${managing}' cannot be combined with a budget, models, a rate limit or an expiry.`)
  }
  if (!operator) return scopes
  return scopes.length === 0 ? SCOPES : [...scopes, 'operator']
}

function readScope(name: string): Scope {
  const scope = ACCOUNT_SCOPES.find((candidate) => candidate === name)
  if (scope !== undefined) return scope
  if (name === 'operator') throw wrongUsage("--scopes: pass --operator for the scope 'operator'.")
  throw wrongUsage(`--scopes: unknown scope '${name}'. Allowed: ${ACCOUNT_SCOPES.join(', ')}.`)
}

function readRange(text: string): string {
  if (parseAddressRange(text) !== undefined) return text
  throw wrongUsage(`--ip-allowlist: '${text}' is not an IP address or a CIDR block such as 203.0.113.0/24.`)
}

function readDurationMs(text: string, option: string): number {
  const durationMs = parseDurationMs(text)
  if (durationMs !== undefined) return durationMs
  throw wrongUsage(`${option}: allowed: a whole number and a unit (s, m, h, d), such as 30d.`)
}

function keysTable(keys: readonly ApiKey[], now: number): string {
  const rows = keys.map((key) => [
    key.id,
    key.name,
    `${key.prefix}…${key.last4}`,
    key.scopes.join(',') || 'all',
    dateText(key.lastUsedAt).slice(0, 10),
    stateOf(key, now),
  ])
  return plainTable(['ID', 'NAME', 'KEY', 'SCOPES', 'LAST USED', 'STATE'], rows)
}

function stateOf({ revokedAt, expiresAt, disabledAt }: ApiKey, now: number): string {
  if (revokedAt !== undefined) return 'revoked'
  if (expiresAt !== undefined && expiresAt <= now) return 'expired'
  if (disabledAt !== undefined) return 'disabled'
  return expiresAt === undefined ? 'active' : `until ${dateText(expiresAt).slice(0, 10)}`
}

function dateText(ms: number | undefined): string {
  return ms === undefined ? '-' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}
