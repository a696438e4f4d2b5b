/** Writes the keys, teams and opening entries of an import into the database. Repeating it changes nothing. */
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { OwnedSubject } from '../../domain/budget.ts'
import type { TeamId } from '../../domain/ids.ts'
import type { Account } from '../../features/accounts/queries.ts'
import { auditWriter } from '../../features/audit/log.ts'
import { createBudgets } from '../../features/credit/budgets/store.ts'
import { FULL_ACCESS, insertKey } from '../../features/keys/queries.ts'
import { insertTeam } from '../../features/teams/queries.ts'
import { auditCommand, type CommandContext, commandOrigin } from '../database.ts'
import { IMPORTED_SCOPES, type ImportDraft, type ImportedBudget, type ImportedKey, type OpeningEntry } from './draft.ts'

export interface Applied {
  readonly keys: number
  readonly teams: number
  readonly entries: number
  /** Found in the database already. */
  readonly existing: number
}

export async function applyImport(context: CommandContext, account: Account, draft: ImportDraft): Promise<Applied> {
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
