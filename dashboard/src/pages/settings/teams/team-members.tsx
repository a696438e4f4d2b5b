/** Who is in a team, and as what. */
import { LogOut, UserMinus, UserPlus, UsersRound } from 'lucide-react'
import { useState } from 'react'
import { useCan, useMe } from '../../../api/me.ts'
import { useAccountNames } from '../../../api/names.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx'
import { Combobox } from '../../../ui/form/combobox.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { Section } from '../../../ui/page.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { LoadMore } from '../../../ui/table/paged.tsx'
import { actionsColumn, type Column, Table } from '../../../ui/table/table.tsx'
import { Time } from '../../../ui/values.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { PersonCell } from '../members/person-cell.tsx'
import { nameOf } from '../members/queries.ts'
import { readTeamSearch } from '../search.ts'
import { ROLE_NAMES, ROLE_TEXTS, TEAM_ROLES } from './draft.ts'
import { type Team, type TeamMember, type TeamRole, useTeamActions, useTeamMembers } from './queries.ts'

interface TeamMembersProps {
  readonly team: Pick<Team, 'id' | 'name' | 'archived_at'>
}

export function TeamMembers({ team }: TeamMembersProps) {
  const pages = useTeamMembers(team.id)
  const canManage = useCanManage(team, pages.rows)
  const { edit } = useSearchOf(readTeamSearch)
  const change = useSearchChange()
  return (
    <Section
      title="Members"
      description="Owners and admins of the account can do everything that a team admin can."
      actions={
        canManage && (
          <Button icon={UserPlus} onClick={() => change({ edit: 'member' })}>
            Add member
          </Button>
        )
      }
    >
      <Loaded query={pages} what="its members">
        {(rows) => (
          <>
            <MembersTable team={team} rows={rows} canManage={canManage} />
            <LoadMore pages={pages} noun="member" />
          </>
        )}
      </Loaded>
      {canManage && (
        <AddMember
          team={team}
          inTeam={pages.rows}
          open={edit === 'member'}
          onClose={() => change({ edit: undefined })}
        />
      )}
    </Section>
  )
}

/** Managers of the account, and admins of the team. */
function useCanManage({ archived_at: archived }: TeamMembersProps['team'], rows: readonly TeamMember[]): boolean {
  const { user } = useMe()
  const ofAccount = useCan('teams')
  const own = rows.find(({ id }) => id === user.id)
  return archived === null && (ofAccount || own?.role === 'admin')
}

interface MembersTableProps extends TeamMembersProps {
  readonly rows: readonly TeamMember[]
  readonly canManage: boolean
}

function MembersTable({ team, rows, canManage }: MembersTableProps) {
  const [removing, setRemoving] = useState<TeamMember>()
  const columns: readonly Column<TeamMember>[] = [
    { id: 'who', header: 'Member', primary: true, cell: (row) => <PersonCell person={row} /> },
    { id: 'role', header: 'Role', cell: (row) => <RoleCell team={team} row={row} canManage={canManage} /> },
    { id: 'since', header: 'Since', cell: (row) => <Since row={row} /> },
    actionsColumn((row) => <Removal row={row} canManage={canManage} team={team} onRemove={setRemoving} />),
  ]
  return (
    <>
      <Table
        label="Members of the team"
        density="comfortable"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty icon={UsersRound} title="No members yet" className="py-8">
            Owners and admins of the account can use the team without being in it.
          </Empty>
        }
      />
      <RemoveMember team={team} member={removing} onClose={() => setRemoving(undefined)} />
    </>
  )
}

function Since({ row: { created_at: at, by_group: byGroup } }: { readonly row: TeamMember }) {
  return (
    <span className="block py-0.5">
      <Time iso={at} relative />
      {byGroup && <span className="block text-xs text-soft">by a group of the identity provider</span>}
    </span>
  )
}

interface CellProps extends TeamMembersProps {
  readonly row: TeamMember
  readonly canManage: boolean
}

function RoleCell({ team, row, canManage }: CellProps) {
  const { changeRole } = useTeamActions()
  if (!canManage) return ROLE_NAMES[row.role]
  const choose = (role: TeamRole) => {
    if (role === row.role) return
    changeRole(team.id, row.id, role).then(
      () => toast(`${nameOf(row)} is now ${ROLE_NAMES[role].toLowerCase()} of the team`),
      (error: Error) => toast(error.message, { tone: 'bad' }),
    )
  }
  return (
    <SelectField
      label={`Role of ${nameOf(row)}`}
      hideLabel
      className="w-36"
      value={row.role}
      onChange={choose}
      options={ROLE_OPTIONS}
    />
  )
}

const ROLE_OPTIONS = TEAM_ROLES.map((value) => ({ value, label: ROLE_NAMES[value], description: ROLE_TEXTS[value] }))

function Removal({ team, row, canManage, onRemove }: CellProps & { readonly onRemove: (row: TeamMember) => void }) {
  const { user } = useMe()
  if (team.archived_at !== null) return null
  if (row.id === user.id) {
    return (
      <Button size="sm" variant="ghost" icon={LogOut} onClick={() => onRemove(row)}>
        Leave
      </Button>
    )
  }
  if (!canManage) return null
  return (
    <Button
      size="sm"
      variant="ghost"
      icon={UserMinus}
      aria-label={`Remove ${nameOf(row)} from the team`}
      onClick={() => onRemove(row)}
    >
      Remove
    </Button>
  )
}

interface RemoveMemberProps extends TeamMembersProps {
  readonly member: TeamMember | undefined
  readonly onClose: () => void
}

function RemoveMember({ team, member, onClose }: RemoveMemberProps) {
  const { user } = useMe()
  const { removeMember } = useTeamActions()
  const isSelf = member?.id === user.id
  const name = member === undefined ? '' : nameOf(member)
  return (
    <ConfirmDialog
      open={member !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={isSelf ? `Leave “${team.name}”?` : `Remove ${name} from “${team.name}”?`}
      confirmLabel={isSelf ? 'Leave team' : 'Remove'}
      danger
      onConfirm={async () => {
        if (member === undefined) return
        await removeMember(team.id, member.id)
        toast(isSelf ? `You left “${team.name}”` : `Removed ${name}`)
      }}
    >
      <p>
        Keys of the team that {isSelf ? 'you' : 'they'} created stop within a second, unless{' '}
        {isSelf ? 'you are' : 'they are'} an owner or admin of the account. They work again after coming back.
      </p>
    </ConfirmDialog>
  )
}

interface AddMemberProps extends TeamMembersProps {
  readonly inTeam: readonly TeamMember[]
  readonly open: boolean
  readonly onClose: () => void
}

function AddMember({ team, inTeam, open, onClose }: AddMemberProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title={`Add a member to “${team.name}”`}
      description="Members of the account can be added."
    >
      <AddForm team={team} inTeam={inTeam} onClose={onClose} />
    </Dialog>
  )
}

function AddForm({ team, inTeam, onClose }: Omit<AddMemberProps, 'open'>) {
  const { addMember } = useTeamActions()
  const { members } = useAccountNames()
  const [userId, setUserId] = useState('')
  const [role, setRole] = useState<TeamRole>('member')
  const open = members.filter(({ id }) => inTeam.every((member) => member.id !== id))
  return (
    <Form
      submitLabel="Add member"
      missing={userId === '' ? 'Choose a person.' : undefined}
      onCancel={onClose}
      onSubmit={async () => {
        const added = await addMember(team.id, userId, role)
        toast(`${nameOf(added)} added`)
        onClose()
      }}
    >
      <Combobox
        label="Person"
        name="user_id"
        placeholder="Find a member of the account"
        value={userId}
        onChange={setUserId}
        options={open.map(({ id, name }) => ({ value: id, label: name }))}
        required
      />
      <RadioGroupField label="Role in the team" name="role" value={role} onChange={setRole} options={ROLE_OPTIONS} />
    </Form>
  )
}
