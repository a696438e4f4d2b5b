/**
 * `turnpike import`: takes over configuration, keys, teams and spending of other gateways, into a file and the
 * database.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Transaction } from 'kysely'
import { stringify } from 'yaml'
import { processEnvironment } from '../../config/environment.ts'
import { checkText } from '../../config/load.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { OwnedSubject } from '../../domain/budget.ts'
import type { TeamId } from '../../domain/ids.ts'
import { usdNumber } from '../../domain/money.ts'
import type { Account } from '../../features/accounts/queries.ts'
import { auditWriter } from '../../features/audit/log.ts'
import { createBudgets } from '../../features/credit/budgets/store.ts'
import { FULL_ACCESS, insertKey } from '../../features/keys/queries.ts'
import { insertTeam } from '../../features/teams/queries.ts'
import { wrappedTable } from '../../lib/table.ts'
import { builtIn } from '../configuration.ts'
import { auditCommand, type CommandContext, chosenAccount, commandOrigin, withDatabase } from '../database.ts'
import { grouped, jsonLine, note, plainTable, progress } from '../output.ts'
import {
  IMPORTED_SCOPES,
  type ImportDraft,
  type ImportedBudget,
  type ImportedKey,
  type OpeningEntry,
  renderConfig,
} from './draft.ts'

export interface ImportOptions {
  /** File of the new configuration; undefined: standard output. */
  readonly output?: string
  /** Address of the database of the source. */
  readonly databaseUrl?: string
  readonly apply?: boolean
  /** Account of the keys; undefined: the first one. */
  readonly account?: string
  readonly json?: boolean
}

export async function importFromLitellm(file: string, options: ImportOptions): Promise<void> {
  const [{ importLitellm }, { importLitellmDatabase }] = await Promise.all([
    import('./litellm.ts'),
    import('./litellm-database.ts'),
  ])
  const draft = importLitellm(await readFile(file, 'utf8'))
  if (options.databaseUrl !== undefined) progress('Reading the database of LiteLLM…')
  if (options.databaseUrl !== undefined) await importLitellmDatabase(draft, options.databaseUrl, Date.now())
  await finish(draft, options)
}

export async function importFromOpenrouter(file: string, options: ImportOptions): Promise<void> {
  const { importOpenrouter } = await import('./openrouter.ts')
  await finish(importOpenrouter(await readFile(file, 'utf8')), options)
}

export async function importFromPortkey(file: string, options: ImportOptions): Promise<void> {
  const { importPortkey } = await import('./portkey.ts')
  await finish(importPortkey(await readFile(file, 'utf8'), basename(file).replace(/\.[^.]*$/, '')), options)
}

export async function importFromOneApi(file: string, options: ImportOptions): Promise<void> {
  const { importOneApi, readOneApi } = await import('./one-api.ts')
  await finish(importOneApi(await readOneApi(file), Date.now()), options)
}

const HEADER = [
  '# yaml-language-server: $schema=./turnpike.schema.json',
  '# Write the schema with: turnpike config schema > turnpike.schema.json',
  '',
].join('\n')

async function finish(draft: ImportDraft, { output, apply, account: id, json }: ImportOptions): Promise<void> {
  const text = `${HEADER}${stringify(renderConfig(draft), { lineWidth: 0 })}`
  await checkOwnOutput(draft, text)
  if (output !== undefined) await writeNew(output, text)
  const applied =
    apply === true
      ? await withDatabase(async (context) => {
          return applyImport(context, await chosenAccount(context, id), draft)
        })
      : undefined
  if (json === true) process.stdout.write(jsonLine(renderReport(draft, { applied, output, text })))
  else {
    if (output === undefined) process.stdout.write(text)
    report(draft, applied)
  }
}

/** Throws where the file exists with another content: it may have been edited since. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!exists) throw error
    if ((await readFile(file, 'utf8')) === text) return
    throw new Error(`${file} exists and differs from the import. Remove it, or choose another name for --output.`)
  }
}

/** Validates the text as `turnpike config check` does. Variables that are not set yet are findings, not problems. */
async function checkOwnOutput(draft: ImportDraft, text: string): Promise<void> {
  const missing = [...draft.variables].filter((name) => processEnvironment[name] === undefined)
  if (missing.length > 0) {
    const advice = `Set them before the start, in the environment or in .env.`
    const subject = 'environment variables'
    draft.findings.push({ status: 'changed', subject, text: `Not set here: ${missing.join(', ')}.`, advice })
  }
  const filled = Object.fromEntries(missing.map((name) => [name, placeholder(name)]))
  for (const problem of await checkText(text, { env: { ...processEnvironment, ...filled }, builtIn: builtIn() })) {
    const advice = 'Correct this line of the configuration.'
    draft.findings.push({ status: 'changed', subject: 'configuration', text: problem, advice })
  }
}

/** A value that every setting accepts which an import refers to: an address is also a text. */
function placeholder(name: string): string {
  return /PORT$/.test(name) ? '6379' : /HOST$/.test(name) ? 'localhost' : 'https://unset.invalid'
}

interface Outcome {
  readonly applied: Applied | undefined
  readonly output: string | undefined
  readonly text: string
}

function renderReport({ findings, keys, teams, entries }: ImportDraft, { applied, output, text }: Outcome) {
  const opening = entries.map(({ kind, nanoUsd, note: about }) => ({ kind, usd: usdNumber(nanoUsd), note: about }))
  return {
    ...(output === undefined ? { config: text } : { output }),
    findings: findings.map(({ advice = null, ...finding }) => ({ ...finding, advice })),
    keys: keys.map(({ name, last4, team = null }) => ({ name, last4, team })),
    teams: teams.map(({ name }) => ({ name })),
    opening_entries: opening,
    applied: applied ?? null,
  }
}

const TITLES = {
  taken: 'Taken over',
  changed: 'Taken over with a difference',
  no_equal: 'Not taken over',
} as const

function report({ findings, keys, teams, entries }: ImportDraft, applied: Applied | undefined): void {
  for (const [status, title] of Object.entries(TITLES)) {
    const rows = findings.filter((finding) => finding.status === status)
    if (rows.length === 0) continue
    note(`${title}:`)
    process.stderr.write(
      plainTable(
        ['', 'WHAT', 'RESULT'],
        rows.map(({ subject, text, advice = '' }) => ['', subject, `${text} ${advice}`.trim()]),
        wrappedTable, // the advice is nowhere else
      ),
    )
  }
  if (applied !== undefined) {
    const existing = grouped(applied.existing)
    note(`Applied: ${countsText(applied, ', ')}; ${existing} existed.`)
  } else if (keys.length + teams.length + entries.length > 0) {
    const counts = countsText({ keys: keys.length, teams: teams.length, entries: entries.length }, ' and ')
    note(`${counts} are not in the database yet: repeat the command with --apply.`)
  }
}

/** @param last Before the last count. */
function countsText({ keys, teams, entries }: Omit<Applied, 'existing'>, last: string): string {
  return `${grouped(keys)} keys, ${grouped(teams)} teams${last}${grouped(entries)} opening entries`
}

/* Writes the keys, teams and opening entries of an import into the database. Repeating it changes nothing. */

interface Applied {
  readonly keys: number
  readonly teams: number
  readonly entries: number
  /** Found in the database already. */
  readonly existing: number
}

async function applyImport(context: CommandContext, account: Account, draft: ImportDraft): Promise<Applied> {
  const rows = await context.db.transaction().execute((inside) => applyRows(context, inside, { account, draft }))
  let replayed = 0
  for (const entry of draft.entries) if (!(await enter(context, account, entry))) replayed += 1
  return { ...rows, entries: draft.entries.length - replayed, existing: rows.existing + replayed }
}

interface Imported {
  readonly account: Account
  readonly draft: ImportDraft
}

async function applyRows(context: CommandContext, inside: Transaction<Database>, { account, draft }: Imported) {
  const { now, ids } = context
  const accountId = account.id
  const active = inside.selectFrom('team').select(['id', 'name'])
  const rows = await active.where('account_id', '=', accountId).where('archived_at', 'is', null).execute()
  const teams = new Map<string, TeamId>(rows.map(({ id, name }) => [name, id]))
  const counts = { keys: 0, teams: 0, existing: 0 }
  for (const { name, models, requestsPerMinute, budget } of draft.teams) {
    if (teams.has(name)) {
      counts.existing += 1
      continue
    }
    const settings = { name, models, endpoints: [], requestsPerMinute, dataPolicy: undefined }
    const { id } = await insertTeam(inside, { accountId, id: ids.team(), ...settings }, now())
    await auditCommand(context, inside, { accountId, action: 'team.created', subject: id, details: { name } })
    await setBudget(context, inside, { subject: { accountId, level: 'team', id }, budget })
    teams.set(name, id)
    counts.teams += 1
  }
  for (const key of draft.keys) {
    const isNew = await addKey(context, inside, { account, key, teamId: teams.get(key.team ?? '') })
    counts[isNew ? 'keys' : 'existing'] += 1
  }
  return counts
}

interface NewImportedKey {
  readonly account: Account
  readonly key: ImportedKey
  readonly teamId: TeamId | undefined
}

/** False when a credential has this hash already, also a revoked one. */
async function addKey(
  context: CommandContext,
  inside: Transaction<Database>,
  { account, key, teamId }: NewImportedKey,
) {
  const { hash, team: _, last4, budget, ...rights } = key
  const known = await inside.selectFrom('credential').select('id').where('hash', '=', hash).executeTakeFirst()
  if (known !== undefined) return false
  const accountId = account.id
  const written = { hash, prefix: IMPORTED_PREFIX, last4 }
  const { id } = await insertKey(
    inside,
    { ...FULL_ACCESS, ...rights, scopes: IMPORTED_SCOPES, accountId, teamId, written },
    context,
  )
  const details = { name: key.name, scopes: IMPORTED_SCOPES, last4, imported: true }
  await auditCommand(context, inside, { accountId, action: 'key.created', subject: id, details })
  await setBudget(context, inside, { subject: { accountId, level: 'key', id }, budget })
  return true
}

interface NewBudget {
  readonly subject: OwnedSubject
  readonly budget: ImportedBudget | undefined
}

async function setBudget(context: CommandContext, inside: Transaction<Database>, { subject, budget }: NewBudget) {
  if (budget === undefined) return
  const terms = { ...budget, timezone: 'UTC', startsAt: undefined, action: 'block' } as const
  const port = createBudgets({ ...context, writeAudit: auditWriter(context) })
  await port.replace(inside, { subject, budgets: [terms], audited: commandOrigin(subject.accountId) })
}

const IMPORTED_PREFIX = 'sk-'

/** False when the entry was made before. */
async function enter(context: CommandContext, account: Account, { key, nanoUsd, note, kind }: OpeningEntry) {
  const once = (part: string) => `import ${key} ${part}`.slice(0, 255)
  const grant = { kind: 'grant', nanoUsd, note, adjusts: undefined } as const
  const { isReplay } = await context.credit.enter(account, grant, once('grant'))
  if (kind === 'spent') await context.credit.enter(account, { ...grant, kind: 'debit' }, once('debit'))
  return !isReplay
}
