/** `/group-mappings`: what groups of an identity provider mean for roles in the account and in its teams. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError, notFound } from '../../../domain/errors.ts'
import { ROLES, type Role, TEAM_ROLES, type TeamRole } from '../../../domain/identity/caller.ts'
import type { TeamId } from '../../../domain/ids.ts'
import { type Requester, requesterOf } from '../../../http/request-origin.ts'
import { oneOf } from '../../../http/wire-fields.ts'
import type { FeatureDeps } from '../../deps.ts'
import { assertKeyMayGive, assertMayGive, notAManager, roleOfKey } from '../manage.ts'
import { findMember } from '../queries.ts'
import { applyGroups, inAccount, type ProvisionDeps } from './provision.ts'
import { type GroupMapping, mappingsOf } from './store.ts'

export interface MappingsDeps extends ProvisionDeps, Pick<FeatureDeps, 'callerOf'> {
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

/** `owner` is nobody's to give by a group. */
const ROLES_OF_GROUPS = [...ROLES.filter((role) => role !== 'owner'), ...TEAM_ROLES.filter((role) => role !== 'admin')]

const Mapping = Type.Object(
  {
    group: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Name or ID of the group at the identity provider, in any case.',
    }),
    team_id: Type.Optional(
      Type.Unsafe<TeamId | null>({
        type: ['string', 'null'],
        maxLength: 64,
        description: 'Who is in the group is in this team. Null: the role is one in the account.',
      }),
    ),
    role: oneOf<Role | TeamRole>(ROLES_OF_GROUPS, {
      description: 'In the team `admin`, `member` or `viewer`; in the account `admin`, `developer` or `billing`.',
    }),
  },
  { additionalProperties: false },
)
const Mappings = Type.Object({ mappings: Type.Array(Mapping, { maxItems: 1_000 }) }, { additionalProperties: false })

const config = { scope: 'members' } as const
const tags = ['Teams']
const readSchema = {
  summary: 'List group mappings',
  description: 'Returns what groups of an identity provider mean for roles in the account and in its teams.',
  tags,
  response: { 200: Mappings },
}
const replaceSchema = {
  summary: 'Replace the group mappings',
  description:
    'Replaces the whole list, and applies it to everybody who is provisioned by SCIM. Owners keep their role, and who was added to a team by hand stays.',
  tags,
  body: Mappings,
  response: { 200: Mappings },
}

export function groupMappingsRoutes(deps: MappingsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, changed } = deps
  return async (app) => {
    app.get('/group-mappings', { config, schema: readSchema }, async (request) =>
      render(await mappingsOf(db, callerOf(request).accountId)),
    )
    app.put('/group-mappings', { config, schema: replaceSchema }, async (request) => {
      const mappings = request.body.mappings.map(({ group, team_id, role }) => ({
        group,
        teamId: team_id ?? null,
        role,
      }))
      const replaced = await replaceMappings(deps, requesterOf(request, callerOf(request)), mappings)
      await changed()
      return render(replaced)
    })
  }
}

function replaceMappings(
  deps: MappingsDeps,
  requester: Requester,
  mappings: readonly GroupMapping[],
): Promise<readonly GroupMapping[]> {
  return inAccount(deps, requester, async (inside, accountId) => {
    const { caller } = requester
    const giver =
      caller.userId === undefined
        ? roleOfKey(caller)
        : (await findMember(inside, { accountId, userId: caller.userId }))?.role
    if (giver === undefined) throw notAManager(caller)
    const teams = await inside.selectFrom('team').select('id').where('account_id', '=', accountId).execute()
    const known = new Set<string>(teams.map(({ id }) => id))
    for (const [at, { teamId, role }] of mappings.entries()) {
      assertRole(at, teamId, role)
      if (teamId !== null && !known.has(teamId)) {
        throw notFound('team', `mappings[${at}].team_id`)
      }
      if (teamId !== null) continue
      assertMayGive(giver, role as Role)
      assertKeyMayGive(caller, role as Role)
    }
    await inside.deleteFrom('group_mapping').where('account_id', '=', accountId).execute()
    for (const { group, teamId, role } of mappings) {
      await inside
        .insertInto('group_mapping')
        .values({ account_id: accountId, group_name: group, team_id: teamId ?? '', role })
        .onConflict((conflict) => conflict.columns(['account_id', 'group_name', 'team_id']).doUpdateSet({ role }))
        .execute()
    }
    const users = await inside.selectFrom('scim_user').select('user_id').where('account_id', '=', accountId).execute()
    for (const { user_id: userId } of users) await applyGroups(deps, inside, { accountId, userId })
    const event = { action: 'group_mappings.changed', subject: undefined, details: { mappings: mappings.length } }
    await deps.writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
    return mappingsOf(inside, accountId)
  })
}

function assertRole(at: number, teamId: TeamId | null, role: Role | TeamRole): void {
  const allowed: readonly string[] = teamId === null ? ROLES : TEAM_ROLES
  if (allowed.includes(role)) return
  const message = teamId === null ? `'${role}' is a role in a team; name the team.` : `'${role}' is no role in a team.`
  throw new GatewayError('invalid_value', message, { param: `mappings[${at}].role` })
}

function render(mappings: readonly GroupMapping[]): Static<typeof Mappings> {
  return { mappings: mappings.map(({ group, teamId, role }) => ({ group, team_id: teamId, role })) }
}
