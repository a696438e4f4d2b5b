import { LogOut, UserMinus } from 'lucide-react'
import { useState } from 'react'
import { useCan, useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { CheckboxField } from '../../../ui/form/toggle-fields.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Time } from '../../../ui/values.tsx'
import { PersonCell } from './person-cell.tsx'
import { type Member, nameOf, useMemberActions } from './queries.ts'
import { isRole, nameOfRole, ROLE_SUMMARIES, type Role, rolesToGive } from './rights.ts'

export function MembersTable({ rows }: { readonly rows: readonly Member[] }) {
  const [changing, setChanging] = useState<RoleChange>()
  const [removing, setRemoving] = useState<Member>()
  const columns: readonly Column<Member>[] = [
    { id: 'who', header: 'Member', primary: true, cell: (row) => <PersonCell person={row} /> },
    {
      id: 'role',
      header: 'Role',
      cell: (row) => <RoleCell row={row} onChange={(role) => setChanging({ member: row, role })} />,
    },
    { id: 'joined', header: 'Joined', cell: (row) => <Time iso={row.created_at} relative /> },
    { id: 'actions', header: 'Actions', align: 'right', cell: (row) => <Removal row={row} onRemove={setRemoving} /> },
  ]
  return (
    <>
      <Table label="Members" density="comfortable" columns={columns} rows={rows} rowKey={({ id }) => id} />
      <ChangeRole change={changing} onClose={() => setChanging(undefined)} />
      <RemoveMember member={removing} onClose={() => setRemoving(undefined)} />
    </>
  )
}

interface RoleCellProps {
  readonly row: Member
  readonly onChange: (role: Role) => void
}

function RoleCell({ row, onChange }: RoleCellProps) {
  const { role: own, rights } = useMe()
  const given = rolesToGive(own)
  if (!rights.has('members') || !given.some((role) => role === row.role)) return nameOfRole(row.role)
  return (
    <SelectField
      label={`Role of ${nameOf(row)}`}
      hideLabel
      className="w-36"
      value={row.role}
      onChange={(role) => {
        if (isRole(role) && role !== row.role) onChange(role)
      }}
      options={given.map((role) => ({ value: role, label: nameOfRole(role), description: ROLE_SUMMARIES[role] }))}
    />
  )
}

interface RemovalProps {
  readonly row: Member
  readonly onRemove: (member: Member) => void
}

/** Anybody may leave; only owners remove owners. */
function Removal({ row, onRemove }: RemovalProps) {
  const { user, role, rights } = useMe()
  if (row.id === user.id) {
    return (
      <Button size="sm" variant="ghost" icon={LogOut} onClick={() => onRemove(row)}>
        Leave
      </Button>
    )
  }
  if (!rights.has('members') || (row.role === 'owner' && role !== 'owner')) return null
  return (
    <Button
      size="sm"
      variant="ghost"
      icon={UserMinus}
      aria-label={`Remove ${nameOf(row)}`}
      onClick={() => onRemove(row)}
    >
      Remove
    </Button>
  )
}

interface RoleChange {
  readonly member: Member
  readonly role: Role
}

interface ChangeRoleProps {
  readonly change: RoleChange | undefined
  readonly onClose: () => void
}

function ChangeRole({ change, onClose }: ChangeRoleProps) {
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
        The change applies within a second, also to their devices and API keys.
        {member.id === user.id && ' You may not be able to revert it yourself.'}
      </p>
    </>
  )
}

/** "an owner", "a developer", "a billing member". */
function articled(role: Role): string {
  if (role === 'billing') return 'a billing member'
  return role === 'developer' ? 'a developer' : `an ${role}`
}

interface RemoveMemberProps {
  readonly member: Member | undefined
  readonly onClose: () => void
}

/** Removes somebody, or oneself. */
function RemoveMember({ member, onClose }: RemoveMemberProps) {
  const { user, account } = useMe()
  const mayErase = useCan('content')
  const [erasesContent, setErasesContent] = useState(false)
  const { remove } = useMemberActions()
  const isSelf = member?.id === user.id
  const name = member === undefined ? '' : nameOf(member)
  return (
    <ConfirmDialog
      open={member !== undefined}
      onOpenChange={(open) => {
        if (open) return
        setErasesContent(false)
        onClose()
      }}
      title={isSelf ? `Leave ${account.name}?` : `Remove ${name}?`}
      confirmLabel={isSelf ? 'Leave account' : 'Remove member'}
      danger
      onConfirm={async () => {
        if (member === undefined) return
        await remove(member.id, { erasesContent })
        if (isSelf) location.assign('/app/')
        else toast(`Removed ${name}`)
      }}
    >
      <p>
        Within a second {isSelf ? 'your' : 'their'} sessions in this account end, {isSelf ? 'your' : 'their'} devices
        are disconnected, and the API keys that {isSelf ? 'you' : 'they'} created are revoked.
      </p>
      <p>Another invitation does not restore them. Usage and payments stay on record.</p>
      {mayErase && (
        <CheckboxField
          label="Delete captured prompts and answers"
          description={`Of ${isSelf ? 'your' : 'their'} requests, those of these API keys included.`}
          checked={erasesContent}
          onChange={setErasesContent}
        />
      )}
    </ConfirmDialog>
  )
}
