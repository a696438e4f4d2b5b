import { useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { type Member, nameOf, useMemberActions } from './queries.ts'
import { nameOfRole, ROLE_SUMMARIES, type Role } from './rights.ts'

export interface RoleChange {
  readonly member: Member
  readonly role: Role
}

interface ChangeRoleProps {
  readonly change: RoleChange | undefined
  readonly onClose: () => void
}

export function ChangeRole({ change, onClose }: ChangeRoleProps) {
  const { changeRole } = useMemberActions()
  return (
    <ConfirmDialog
      open={change !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={change === undefined ? '' : `Make ${nameOf(change.member)} ${articled(change.role)}?`}
      confirmLabel="Change role"
      onConfirm={async () => {
        if (change === undefined) return
        await changeRole(change.member.id, change.role)
        toast(`${nameOf(change.member)} is now ${articled(change.role)}`)
      }}
    >
      {change !== undefined && <Effect change={change} />}
    </ConfirmDialog>
  )
}

function Effect({ change: { member, role } }: { readonly change: RoleChange }) {
  const { user } = useMe()
  return (
    <>
      <p>
        {nameOfRole(role)}: {ROLE_SUMMARIES[role]} Until now: {nameOfRole(member.role)}.
      </p>
      <p>
        It is in force within a second, also for their devices and for the API keys they made.
        {member.id === user.id && ' You may not be able to take it back yourself.'}
      </p>
    </>
  )
}

/** "an owner", "a developer", "a billing member". */
function articled(role: Role): string {
  if (role === 'billing') return 'a billing member'
  return role === 'developer' ? 'a developer' : `an ${role}`
}
