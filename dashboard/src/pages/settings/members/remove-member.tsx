import { useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { type Member, nameOf, useMemberActions } from './queries.ts'

interface RemoveMemberProps {
  readonly member: Member | undefined
  readonly onClose: () => void
}

/** Removes somebody, or oneself. */
export function RemoveMember({ member, onClose }: RemoveMemberProps) {
  const { user, account } = useMe()
  const { remove } = useMemberActions()
  const isSelf = member?.id === user.id
  const name = member === undefined ? '' : nameOf(member)
  return (
    <ConfirmDialog
      open={member !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={isSelf ? `Leave ${account.name}?` : `Remove ${name}?`}
      confirmLabel={isSelf ? 'Leave account' : 'Remove member'}
      danger
      onConfirm={async () => {
        if (member === undefined) return
        await remove(member.id)
        if (isSelf) location.assign('/app/')
        else toast(`${name} is removed`)
      }}
    >
      <p>
        Within a second {isSelf ? 'your' : 'their'} sessions in this account end, {isSelf ? 'your' : 'their'} devices
        are disconnected, and the API keys that {isSelf ? 'you' : 'they'} made are revoked.
      </p>
      <p>None of it comes back by another invitation. What was used and paid stays on record.</p>
    </ConfirmDialog>
  )
}
