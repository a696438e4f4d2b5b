import { LogOut, UserMinus } from 'lucide-react'
import { useState } from 'react'
import { useMe } from '../../../api/me.ts'
import { Button } from '../../../ui/button.tsx'
import { SelectField } from '../../../ui/field.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/values.tsx'
import { ChangeRole, type RoleChange } from './change-role.tsx'
import { type Member, nameOf } from './queries.ts'
import { RemoveMember } from './remove-member.tsx'
import { isRole, nameOfRole, ROLE_SUMMARIES, type Role, rolesToGive } from './rights.ts'

export function MembersTable({ rows }: { readonly rows: readonly Member[] }) {
  const [changing, setChanging] = useState<RoleChange>()
  const [removing, setRemoving] = useState<Member>()
  const columns: readonly Column<Member>[] = [
    { id: 'who', header: 'Member', primary: true, cell: (row) => <Who row={row} /> },
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

function Who({ row }: { readonly row: Member }) {
  const { user } = useMe()
  return (
    <span className="block max-w-80 min-w-40 py-0.5">
      <span className="block truncate font-medium" title={nameOf(row)}>
        {nameOf(row)}
        {row.id === user.id && <span className="font-normal text-soft"> (you)</span>}
      </span>
      {row.name !== '' && (
        <span className="block truncate text-sm font-normal text-soft" title={row.email}>
          {row.email}
        </span>
      )}
    </span>
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
