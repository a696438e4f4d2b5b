import { MailPlus, UserPlus } from 'lucide-react'
import { useState } from 'react'
import { useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy.tsx'
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { Section } from '../../../ui/page.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { LoadMore } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Time } from '../../../ui/values.tsx'
import {
  type CreatedInvitation,
  type Invitation,
  isOpen,
  type Member,
  nameOf,
  useInvitations,
  useMemberActions,
} from './queries.ts'
import { nameOfRole, ROLE_SUMMARIES, type Role, rolesToGive } from './rights.ts'

interface InvitationsProps {
  /** Among whom the inviters are. */
  readonly members: readonly Member[]
  readonly onInvite: () => void
}

/** Those that somebody can still accept. */
export function Invitations({ members, onInvite }: InvitationsProps) {
  const pages = useInvitations()
  const now = useNow()
  const [withdrawing, setWithdrawing] = useState<Invitation>()
  const columns = columnsFor(members, setWithdrawing)
  return (
    <Section title="Open invitations" description="Each link is valid for 7 days and for one person.">
      <Loaded query={pages} what="invitations">
        {(rows) => (
          <>
            <Table
              label="Open invitations"
              density="comfortable"
              columns={columns}
              rows={rows.filter((row) => isOpen(row, now))}
              rowKey={({ id }) => id}
              empty={<NoInvitations onInvite={onInvite} />}
            />
            <LoadMore pages={pages} noun="invitation" />
          </>
        )}
      </Loaded>
      <Withdraw invitation={withdrawing} onClose={() => setWithdrawing(undefined)} />
    </Section>
  )
}

function columnsFor(members: readonly Member[], withdraw: (row: Invitation) => void): readonly Column<Invitation>[] {
  const by = (id: string | null) => members.find((member) => member.id === id)
  const nameBy = (row: Invitation) => {
    const inviter = by(row.created_by)
    if (inviter !== undefined) return nameOf(inviter)
    if (row.created_by !== null) return 'A former member'
    return 'An API key'
  }
  return [
    {
      id: 'email',
      header: 'For',
      primary: true,
      cell: (row) => (
        <span className="block max-w-72 truncate" title={meantFor(row)}>
          {meantFor(row)}
        </span>
      ),
    },
    { id: 'role', header: 'Role', cell: (row) => nameOfRole(row.role) },
    {
      id: 'by',
      header: 'Invited by',
      cell: (row) => (
        <span className="block max-w-48 truncate" title={nameBy(row)}>
          {nameBy(row)}
        </span>
      ),
    },
    { id: 'expires', header: 'Expires', cell: (row) => <Time iso={row.expires_at} relative /> },
    {
      id: 'actions',
      header: 'Actions',
      align: 'right',
      cell: (row) => (
        <Button
          size="sm"
          variant="ghost"
          aria-label={`Withdraw the invitation for ${meantFor(row)}`}
          onClick={() => withdraw(row)}
        >
          Withdraw
        </Button>
      ),
    },
  ]
}

function meantFor({ email }: Invitation): string {
  return email ?? 'Anyone with the link'
}

interface WithdrawProps {
  readonly invitation: Invitation | undefined
  readonly onClose: () => void
}

function Withdraw({ invitation, onClose }: WithdrawProps) {
  const { withdraw } = useMemberActions()
  return (
    <ConfirmDialog
      open={invitation !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title="Withdraw this invitation?"
      confirmLabel="Withdraw"
      danger
      onConfirm={async () => {
        if (invitation === undefined) return
        await withdraw(invitation.id)
        toast('Invitation withdrawn')
      }}
    >
      <p>
        Its link stops working at once{invitation?.email ? `, also for ${invitation.email}` : ''}. You can create
        another one at any time.
      </p>
    </ConfirmDialog>
  )
}

function NoInvitations({ onInvite }: { readonly onInvite: () => void }) {
  return (
    <Empty
      icon={MailPlus}
      title="No open invitations"
      className="py-8"
      action={
        <Button icon={UserPlus} onClick={onInvite}>
          Invite a member
        </Button>
      }
    >
      People join with a link that you send them.
    </Empty>
  )
}

interface InviteDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function InviteDialog({ open, onClose }: InviteDialogProps) {
  const [created, setCreated] = useState<CreatedInvitation>()
  const close = () => {
    setCreated(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) close()
      }}
      title={created === undefined ? 'Invite a member' : 'Invitation created'}
      description={
        created === undefined
          ? 'Turnpike creates a link for you to send. It does not send email.'
          : 'Send this link. It is shown only this once, and anyone who has it can use it.'
      }
    >
      {created === undefined ? (
        <Invite onCreated={setCreated} onCancel={close} />
      ) : (
        <Link created={created} onDone={close} />
      )}
    </Dialog>
  )
}

interface InviteProps {
  readonly onCreated: (created: CreatedInvitation) => void
  readonly onCancel: () => void
}

function Invite({ onCreated, onCancel }: InviteProps) {
  const { role: own } = useMe()
  const { invite } = useMemberActions()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  return (
    <Form
      submitLabel="Create link"
      onCancel={onCancel}
      onSubmit={async () => onCreated(await invite(role, email.trim()))}
    >
      <TextField
        label="Email"
        name="email"
        description="Optional note: the person that the link is for."
        placeholder="ada@example.com"
        inputMode="email"
        autoComplete="off"
        spellCheck={false}
        value={email}
        onChange={setEmail}
        autoFocus
      />
      <RadioGroupField
        label="Role"
        name="role"
        value={role}
        onChange={setRole}
        options={rolesToGive(own).map((each) => ({
          value: each,
          label: nameOfRole(each),
          description: ROLE_SUMMARIES[each],
        }))}
      />
    </Form>
  )
}

interface LinkProps {
  readonly created: CreatedInvitation
  readonly onDone: () => void
}

function Link({ created, onDone }: LinkProps) {
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-sunken py-2 pr-2 pl-3">
        <code data-secret className="min-w-0 flex-1 font-mono text-sm break-all text-ink">
          {created.url}
        </code>
        <CopyButton text={created.url} label="Copy link" variant="primary" />
      </div>
      <p className="text-soft">
        For {created.email ?? 'anyone with the link'}, as {nameOfRole(created.role).toLowerCase()}. It expires{' '}
        <Time iso={created.expires_at} relative />.
      </p>
      <div className="flex justify-end">
        <Button variant="primary" onClick={onDone}>
          Done
        </Button>
      </div>
    </div>
  )
}
