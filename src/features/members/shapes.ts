/** Members and invitations on the wire. */
import { type Static, Type } from 'typebox'
import { ROLES, type Role } from '../../domain/rights.ts'
import type { Invitation } from './invitations.ts'
import type { Member } from './queries.ts'

const MAX_EMAIL_LENGTH = 320

const closed = { additionalProperties: false }
const textOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const RoleName = Type.Unsafe<Role>({ type: 'string', enum: [...ROLES] })

export const MemberPatch = Type.Object({ role: RoleName }, closed)
export const MemberView = Type.Object({
  id: Type.String({ description: 'Of the user.' }),
  object: Type.Literal('member'),
  email: Type.String(),
  name: Type.String(),
  role: RoleName,
  created_at: Type.String({ description: 'When they joined.' }),
})

export const InvitationCreate = Type.Object(
  {
    role: RoleName,
    email: Type.Optional(
      Type.String({
        maxLength: MAX_EMAIL_LENGTH,
        pattern: '^[^\\s@]+@[^\\s@]+$',
        description: 'Whom it is meant for. A note: nothing is sent there, and whoever has the link may use it.',
      }),
    ),
  },
  closed,
)
const INVITATION_FIELDS = {
  id: Type.String(),
  object: Type.Literal('invitation'),
  role: RoleName,
  email: textOrNull('Whom it is meant for.'),
  created_by: textOrNull('The user. Null: an API key.'),
  created_at: Type.String(),
  expires_at: Type.String(),
  used_at: textOrNull('ISO 8601.'),
  used_by: textOrNull('The user who joined by it.'),
  revoked_at: textOrNull('ISO 8601.'),
}
export const InvitationView = Type.Object(INVITATION_FIELDS)
export const CreatedInvitationView = Type.Object({
  ...INVITATION_FIELDS,
  url: Type.String({ description: 'The link, shown this once. It is good for 7 days, and for one person.' }),
})

export function renderMember({ userId, email, name, role, createdAt }: Member): Static<typeof MemberView> {
  return { id: userId, object: 'member', email, name, role, created_at: renderTime(createdAt) }
}

export function renderInvitation(invitation: Invitation): Static<typeof InvitationView> {
  const { usedAt, revokedAt } = invitation
  return {
    id: invitation.id,
    object: 'invitation',
    role: invitation.role,
    email: invitation.email ?? null,
    created_by: invitation.createdBy ?? null,
    created_at: renderTime(invitation.createdAt),
    expires_at: renderTime(invitation.expiresAt),
    used_at: usedAt === undefined ? null : renderTime(usedAt),
    used_by: invitation.usedBy ?? null,
    revoked_at: revokedAt === undefined ? null : renderTime(revokedAt),
  }
}

function renderTime(ms: number): string {
  return new Date(ms).toISOString()
}
