import { MailPlus, UserPlus } from 'lucide-react'
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Section } from '../../../ui/page.tsx'
import { LoadMore } from '../../../ui/paged.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Time } from '../../../ui/values.tsx'
import { type Invitation, isOpen, type Member, nameOf, useInvitations, useMemberActions } from './queries.ts'
import { nameOfRole } from './rights.ts'

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
    <Section title="Open invitations" description="Each link is good for 7 days and for one person.">
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
    return row.created_by === null ? 'An API key' : 'A former member'
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
      cell: (row) => <span className="block max-w-48 truncate">{nameBy(row)}</span>,
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
  return email ?? 'Whoever has the link'
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
        toast('The invitation is withdrawn')
      }}
    >
      <p>
        Its link stops working at once{invitation?.email ? `, also for ${invitation.email}` : ''}. You can make another
        one at any time.
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
          Invite somebody
        </Button>
      }
    >
      People join by a link that you send them.
    </Empty>
  )
}
