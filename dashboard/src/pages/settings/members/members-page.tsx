import { UserPlus } from 'lucide-react'
import { useCan, useMe } from '../../../api/me.ts'
import { Button } from '../../../ui/button.tsx'
import { Page, Section } from '../../../ui/page.tsx'
import { LoadMore } from '../../../ui/paged.tsx'
import { Forbidden, Loaded } from '../../../ui/states.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { readMembersSearch } from '../search.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { MembersTable } from './members-table.tsx'
import { useMembers } from './queries.ts'
import { RolesTable } from './roles-table.tsx'

const TITLE = 'Members'

export function MembersPage() {
  if (useCan('members:read')) return <Members />
  return (
    <Page title={TITLE}>
      <Forbidden what="members" right="members:read" />
    </Page>
  )
}

function Members() {
  const { account } = useMe()
  const mayManage = useCan('members')
  const { invite } = useSearchOf(readMembersSearch)
  const change = useSearchChange()
  const pages = useMembers()
  const begin = () => change({ invite: '1' })
  return (
    <Page
      title={TITLE}
      description={`Who belongs to ${account.name}, and as what.`}
      actions={
        mayManage && (
          <Button variant="primary" icon={UserPlus} onClick={begin}>
            Invite
          </Button>
        )
      }
    >
      <Loaded query={pages} what="members">
        {(rows) => (
          <div>
            <MembersTable rows={rows} />
            <LoadMore pages={pages} noun="member" />
          </div>
        )}
      </Loaded>
      {mayManage && <Invitations members={pages.rows} onInvite={begin} />}
      <Section title="What each role may do" description="A change of role is in force within a second.">
        <RolesTable />
      </Section>
      {mayManage && <InviteDialog open={invite === '1'} onClose={() => change({ invite: undefined })} />}
    </Page>
  )
}
