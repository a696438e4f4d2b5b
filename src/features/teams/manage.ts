/** Changes of teams and of who is in them: each is decided in one transaction, and recorded in the audit log. */
import type { Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { BudgetTerms } from '../../domain/budget.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import { type Caller, hasTeamRight, type TeamRight, type TeamRole } from '../../domain/identity/caller.ts'
import type { TeamId, UserId } from '../../domain/ids.ts'
import type { Requester } from '../../http/request-origin.ts'
import type { BudgetPort, FeatureDeps, WriteAudit } from '../deps.ts'
import {
  countTeams,
  findTeam,
  findTeamMember,
  insertTeam,
  isInAccount,
  putTeamMember,
  removeTeamMember,
  settingsColumns,
  type Team,
  type TeamMember,
  type TeamReference,
  type TeamSettings,
  updateTeam,
} from './queries.ts'

/** Teams of an account that are not archived. */
export const MAX_TEAMS = 1_000

export interface ManageDeps extends Pick<FeatureDeps, 'db' | 'now' | 'ids'> {
  readonly writeAudit: WriteAudit
  readonly budgets: BudgetPort
}

/** Rejects with 409 at the account's limit. */
export function createTeam(
  deps: ManageDeps,
  requester: Requester,
  { settings, budgets }: { readonly settings: TeamSettings; readonly budgets: Budgets },
): Promise<Team> {
  const { now, ids, writeAudit } = deps
  const { accountId } = requester.caller
  return decide(deps, { requester, action: 'team.created', subject: undefined }, async (inside) => {
    if ((await countTeams(inside, accountId)) >= MAX_TEAMS) {
      throw new GatewayError('conflict', `An account has at most ${MAX_TEAMS} teams. Archive unused ones.`)
    }
    const team = await insertTeam(inside, { accountId, id: ids.team(), ...settings }, now())
    await writeAudit(inside, teamEvent(requester, 'team.created', team))
    await replaceBudgets(deps, inside, { requester, id: team.id, budgets })
    return team
  })
}

/** Undefined: unchanged. */
type Budgets = readonly BudgetTerms[] | undefined

async function replaceBudgets(
  { budgets: port }: ManageDeps,
  inside: Transaction<Database>,
  { requester, id, budgets }: { readonly requester: Requester; readonly id: TeamId; readonly budgets: Budgets },
): Promise<void> {
  const { audited } = requester
  const subject = { accountId: audited.accountId, level: 'team', id } as const
  if (budgets !== undefined) await port.replace(inside, { subject, budgets, audited })
}

interface TeamChange {
  readonly id: TeamId
  readonly settings: Partial<TeamSettings>
  readonly budgets: Budgets
}

/** What is absent stays. */
export async function changeTeam(
  deps: ManageDeps,
  requester: Requester,
  { id, settings, budgets }: TeamChange,
): Promise<Team> {
  const reference = { accountId: requester.caller.accountId, id }
  return decide(deps, { requester, action: 'team.changed', subject: id }, async (inside) => {
    const before = await requireTeam(inside, requester.caller, { id, right: 'read' })
    const after = await updateTeam(inside, reference, settingsColumns({ ...before, ...settings }), deps.now())
    if (after === undefined) throw unknownTeam()
    await deps.writeAudit(inside, teamEvent(requester, 'team.changed', after))
    await replaceBudgets(deps, inside, { requester, id, budgets })
    return after
  })
}

/** Its keys stop within a second; its usage stays. */
export async function archiveTeam(deps: ManageDeps, requester: Requester, id: TeamId): Promise<void> {
  const reference = { accountId: requester.caller.accountId, id }
  await decide(deps, { requester, action: 'team.archived', subject: id }, async (inside) => {
    const time = deps.now()
    const team = await updateTeam(inside, reference, { archived_at: time }, time)
    if (team === undefined) throw unknownTeam()
    await deps.writeAudit(inside, teamEvent(requester, 'team.archived', team))
  })
}

interface MemberChange {
  readonly id: TeamId
  readonly userId: UserId
  readonly role: TeamRole
}

/** Adds a member of the account to a team, or changes their role in it. */
export function addTeamMember(
  deps: ManageDeps,
  requester: Requester,
  { id, userId, role }: MemberChange,
): Promise<TeamMember> {
  return decide(deps, { requester, action: 'team.member_added', subject: id }, async (inside) => {
    const team = await requireTeam(inside, requester.caller, { id, right: 'manage' })
    if (!(await isInAccount(inside, { accountId: team.accountId, userId }))) throw unknownMember()
    await putTeamMember(inside, { team, userId, role, byGroup: false }, deps.now())
    const details = { user: userId, role }
    await deps.writeAudit(inside, {
      ...requester.audited,
      action: 'team.member_added',
      subject: id,
      result: 'done',
      details,
    })
    const member = await findTeamMember(inside, { team, userId })
    if (member === undefined) throw unknownMember()
    return member
  })
}

/** Everybody may leave a team. */
export function dropTeamMember(
  deps: ManageDeps,
  requester: Requester,
  { id, userId }: Omit<MemberChange, 'role'>,
): Promise<void> {
  const right = requester.caller.userId === userId ? 'read' : 'manage'
  return decide(deps, { requester, action: 'team.member_removed', subject: id }, async (inside) => {
    const team = await requireTeam(inside, requester.caller, { id, right })
    if (!(await removeTeamMember(inside, { team, userId }, deps.now()))) throw unknownMember()
    const event = { action: 'team.member_removed', subject: id, details: { user: userId } } as const
    await deps.writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
  })
}

interface Decision {
  readonly requester: Requester
  readonly action: string
  readonly subject: TeamId | undefined
}

/** Runs a decision in a transaction with the account's teams locked. A 403 is written to the audit log, too. */
async function decide<Result>(
  { db, writeAudit }: ManageDeps,
  { requester, action, subject }: Decision,
  decision: (inside: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  const { caller, audited } = requester
  try {
    return await db.transaction().execute(async (inside) => {
      await acquireAdvisoryLock(inside, `teams of ${caller.accountId}`)
      return decision(inside)
    })
  } catch (error) {
    const isRefusal = error instanceof GatewayError && error.status === 403
    if (isRefusal) await writeAudit(db, { ...audited, action, subject, result: 'denied', details: {} })
    throw error
  }
}

/**
 * Returns a team for which the caller has a right. Throws 403 without it, whatever the ID; 404 for a team that is unknown,
 * another account's, or, where something is to be changed, archived.
 */
export async function requireTeam(
  db: ManageDeps['db'],
  caller: Caller,
  { id, right }: { readonly id: TeamId; readonly right: TeamRight },
): Promise<Team> {
  if (right !== 'read' && !hasTeamRight(caller, id, right)) {
    throw new GatewayError('insufficient_scope', 'Only admins of the team and of the account may decide who is in it.')
  }
  const reference: TeamReference = { accountId: caller.accountId, id }
  const team = isVisible(caller, id) ? await findTeam(db, reference) : undefined
  if (team === undefined || (right !== 'read' && team.archivedAt !== undefined)) throw unknownTeam()
  return team
}

function isVisible(caller: Caller, id: TeamId): boolean {
  return caller.teamId === undefined ? hasTeamRight(caller, id, 'read') : caller.teamId === id
}

function teamEvent({ audited }: Requester, action: string, { id, name }: Team): AuditEvent {
  return { ...audited, action, subject: id, result: 'done', details: { name } }
}

/** The same for another account's team and for an unknown id. */
function unknownTeam(): GatewayError {
  return notFound('active team')
}

function unknownMember(): GatewayError {
  return notFound('member')
}
