/** `turnpike teams`: manage the teams of an account directly in the database. */
import { policyOf, policyText } from '../../domain/data-policy.ts'
import { TEAM_ENDPOINTS, type TeamEndpoint, type TeamRole } from '../../domain/identity/caller.ts'
import type { AccountId, TeamId, UserId } from '../../domain/ids.ts'
import {
  findTeam,
  insertTeam,
  listTeamMembers,
  listTeams,
  putTeamMember,
  removeTeamMember,
  settingsColumns,
  type Team,
  updateTeam,
} from '../../features/teams/queries.ts'
import { renderMember, renderTeam } from '../../features/teams/routes.ts'
import {
  type AccountOption,
  auditCommand,
  type CommandContext,
  chosenAccount,
  severalNamed,
  withDatabase,
} from '../database.ts'
import { wrongUsage } from '../option-values.ts'
import { type JsonOption, plainLine, plainTable, printPage, printResult } from '../output.ts'

interface SettingsOptions {
  readonly models?: string[]
  readonly endpoints?: string[]
  readonly requestsPerMinute?: number | 'none'
  readonly tags?: Readonly<Record<string, string>>
  readonly requireTags?: string[]
  readonly dataCollection?: 'allow' | 'deny'
  readonly zdr?: boolean
  readonly regions?: string[] | 'none'
}

export interface TeamsCreateOptions extends AccountOption, SettingsOptions {
  readonly name: string
}

export interface TeamsUpdateOptions extends JsonOption, SettingsOptions {
  readonly name?: string
}

const ALL = { limit: Number.MAX_SAFE_INTEGER, order: 'asc' } as const

/** Prints the ID of the new team and nothing else. */
export async function teamsCreate(options: TeamsCreateOptions): Promise<void> {
  const unlimited = { models: [], endpoints: [], requestsPerMinute: undefined, dataPolicy: undefined }
  const settings = { ...unlimited, ...readSettings(options), name: options.name.trim() }
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, options.account)
    const team = await context.db.transaction().execute(async (inside) => {
      const created = await insertTeam(inside, { accountId, id: context.ids.team(), ...settings }, context.now())
      const details = { name: created.name }
      await auditCommand(context, inside, { accountId, action: 'team.created', subject: created.id, details })
      return created
    })
    printResult(options, renderTeam(team), team.id)
  })
}

/** Changes what the options name. */
export async function teamsUpdate(named: string, options: TeamsUpdateOptions): Promise<void> {
  const { name } = options
  const settings = { ...readSettings(options), ...(name !== undefined && { name: name.trim() }) }
  if (Object.keys(settings).length === 0) throw wrongUsage('name at least one setting to change.')
  await withDatabase(async (context) => {
    const team = await context.db.transaction().execute(async (inside) => {
      const before = await teamNamed(inside, named)
      const { id } = before
      const after = await updateTeam(inside, before, settingsColumns({ ...before, ...settings }), context.now())
      if (after === undefined) throw new Error(`Team ${named} is archived.`)
      const { accountId } = after
      const details = { name: after.name }
      await auditCommand(context, inside, { accountId, action: 'team.changed', subject: id, details })
      return after
    })
    printResult(options, renderTeam(team), `Changed ${plainLine(team.name)}.`)
  })
}

/** The settings that the options name. */
function readSettings(options: SettingsOptions) {
  const { models, endpoints, requestsPerMinute, tags, requireTags } = options
  if (requestsPerMinute === 0) throw wrongUsage('--requests-per-minute: allowed: at least 1.')
  return {
    ...(models !== undefined && { models }),
    ...(endpoints !== undefined && { endpoints: endpoints.map(readEndpoint) }),
    ...(requestsPerMinute !== undefined && {
      requestsPerMinute: requestsPerMinute === 'none' ? undefined : requestsPerMinute,
    }),
    ...(tags !== undefined && { tags }),
    ...(requireTags !== undefined && { requireTags }),
    ...readPolicy(options),
  }
}

/** One of its options replaces the whole policy, as in the API. */
function readPolicy({ dataCollection, zdr, regions }: SettingsOptions) {
  if (dataCollection === undefined && zdr === undefined && regions === undefined) return {}
  const policy = { dataCollection, zdr, regions: regions === 'none' ? undefined : regions }
  return { dataPolicy: policyOf(policyText(policy)) }
}

export async function teamsList({ account, json }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, account)
    const teams = await listTeams(context.db, accountId, { ...ALL, status: undefined, only: undefined })
    if (json === true) return printPage(teams.map((team) => renderTeam(team)))
    const rows = teams.map(({ id, name, models, endpoints, archivedAt }) => [
      id,
      name,
      models.join(',') || 'all',
      endpoints.join(',') || 'all',
      archivedAt === undefined ? 'active' : 'archived',
    ])
    process.stdout.write(plainTable(['ID', 'NAME', 'MODELS', 'ENDPOINTS', 'STATE'], rows))
  })
}

/** Its keys stop in every process within a second. */
export async function teamsArchive(named: string, options: JsonOption): Promise<void> {
  await withDatabase(async (context) => {
    const time = context.now()
    const team = await context.db.transaction().execute(async (inside) => {
      const archived = await updateTeam(inside, await teamNamed(inside, named), { archived_at: time }, time)
      if (archived === undefined) throw new Error(`Team ${named} is already archived.`)
      const { accountId, id, name } = archived
      await auditCommand(context, inside, { accountId, action: 'team.archived', subject: id, details: { name } })
      return archived
    })
    printResult(options, renderTeam(team), `Archived ${plainLine(team.name)}.`)
  })
}

export async function teamsMembers(named: string, { json }: JsonOption): Promise<void> {
  await withDatabase(async (context) => {
    const team = await teamNamed(context.db, named)
    const members = await listTeamMembers(context.db, team, { ...ALL, after: undefined })
    if (json === true) return printPage(members.map(renderMember))
    const rows = members.map(({ userId, email, role, byGroup }) => [userId, email, role, byGroup ? 'group' : 'hand'])
    process.stdout.write(plainTable(['USER', 'E-MAIL', 'ROLE', 'ADDED BY'], rows))
  })
}

interface AddOptions extends JsonOption {
  readonly role: TeamRole
}

/** @param who ID or e-mail address of a member of the account. */
export async function teamsAdd(named: string, who: string, { role, ...options }: AddOptions): Promise<void> {
  const { userId, team } = await changeMember({ named, who, action: 'team.member_added', role })
  const view = { id: userId, object: 'team_member', team_id: team.id, role }
  printResult(options, view, `${who} is ${role} of ${plainLine(team.name)}.`)
}

export async function teamsRemove(named: string, who: string, options: JsonOption): Promise<void> {
  const { userId, team } = await changeMember({ named, who, action: 'team.member_removed', role: undefined })
  const view = { id: userId, object: 'team_member', team_id: team.id, deleted: true }
  printResult(options, view, `Removed ${who} from ${plainLine(team.name)}.`)
}

interface MemberChange {
  /** ID or name of the team. */
  readonly named: string
  readonly who: string
  readonly action: string
  /** Undefined: they are removed. */
  readonly role: TeamRole | undefined
}

async function changeMember({ named, who, action, role }: MemberChange) {
  return withDatabase(async (context) => {
    const team = await teamNamed(context.db, named)
    const { accountId, id } = team
    const userId = await memberNamed(context, accountId, who)
    await context.db.transaction().execute(async (inside) => {
      const now = context.now()
      if (role !== undefined) await putTeamMember(inside, { team, userId, role, byGroup: false }, now)
      else if (!(await removeTeamMember(inside, { team, userId }, now))) throw new Error(`${who} is not in ${named}.`)
      const details = { user: userId, ...(role !== undefined && { role }) }
      await auditCommand(context, inside, { accountId, action, subject: id, details })
    })
    return { userId, team }
  })
}

/**
 * Finds a team by its ID, else an active one by its name. Throws where none has it, or several do.
 * @param within Undefined: in all accounts.
 */
export async function teamNamed(db: CommandContext['db'], text: string, within?: AccountId): Promise<Team> {
  const rows = await db
    .selectFrom('team')
    .select(['id', 'account_id'])
    .where((is) => is('id', '=', text as TeamId).or(is('name', '=', text).and('archived_at', 'is', null)))
    .$if(within !== undefined, (query) => query.where('account_id', '=', within as AccountId))
    .execute()
  const byId = rows.filter(({ id }) => id === text)
  const [row, ...others] = byId.length > 0 ? byId : rows
  if (others.length > 0) throw severalNamed('teams', text, rows)
  const team = row && (await findTeam(db, { accountId: row.account_id, id: row.id }))
  if (team === undefined) throw new Error(`Team ${text} does not exist. Run 'turnpike teams list' to see all teams.`)
  return team
}

/** Finds a member of an account by ID or e-mail address. */
export async function memberNamed(
  { db }: Pick<CommandContext, 'db'>,
  accountId: AccountId,
  who: string,
): Promise<UserId> {
  const rows = await db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.user_id')
    .select('member.user_id')
    .where(({ and }) => and({ 'member.account_id': accountId, 'member.removed_at': null }))
    .where((is) => is('member.user_id', '=', who as UserId).or('person.email', '=', who))
    .execute()
  const [row, another] = rows
  if (row === undefined) throw new Error(`The account has no member '${who}'.`)
  if (another !== undefined) throw new Error(`Several members have the address '${who}'; name one by ID.`)
  return row.user_id
}

function readEndpoint(name: string): TeamEndpoint {
  const endpoint = TEAM_ENDPOINTS.find((candidate) => candidate === name)
  if (endpoint !== undefined) return endpoint
  throw wrongUsage(`--endpoints: unknown endpoint '${name}'. Allowed: ${TEAM_ENDPOINTS.join(', ')}.`)
}
