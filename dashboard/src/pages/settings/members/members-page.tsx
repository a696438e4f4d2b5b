import { Check, UserPlus } from 'lucide-react'
import { useCan, useMe } from '../../../api/me.ts'
import { Button } from '../../../ui/button.tsx'
import { BELOW_MD, useMediaQuery } from '../../../ui/media-query.ts'
import { Card, CardTitle, Page, Section } from '../../../ui/page.tsx'
import { Forbidden, Loaded } from '../../../ui/states.tsx'
import { LoadMore } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { readMembersSearch } from '../search.ts'
import { Invitations, InviteDialog } from './invitations.tsx'
import { MembersTable } from './members-table.tsx'
import { useMembers } from './queries.ts'
import { nameOfRole, RIGHTS, ROLE_SUMMARIES, ROLES, type Role, rightsOfRole, sentenceOfRight } from './rights.ts'

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
      description={`Members of ${account.name} and their roles.`}
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
      <Section title="Rights of each role" description="A changed role applies within a second.">
        <RolesTable />
      </Section>
      {mayManage && <InviteDialog open={invite === '1'} onClose={() => change({ invite: undefined })} />}
    </Page>
  )
}

/** The rights of accounts; those of the installation belong to no role. */
const ROWS = rightsOfRole('owner')

const COLUMNS: readonly Column<string>[] = [
  {
    id: 'right',
    header: 'May',
    primary: true,
    cell: (right) => <span className="block py-1 font-normal">{sentenceOfRight(right)}</span>,
  },
  ...ROLES.map((role) => ({
    id: role,
    header: nameOfRole(role),
    cell: (right: string) => <Has isThere={hasRight(role, right)} />,
  })),
]

/** By rights; where it is narrow, by roles. */
function RolesTable() {
  const isNarrow = useMediaQuery(BELOW_MD)
  if (isNarrow) return <RoleCards />
  return <Table label="Rights of each role" columns={COLUMNS} rows={ROWS} rowKey={(right) => right} />
}

function RoleCards() {
  return (
    <ul aria-label="Rights of each role" className="flex flex-col gap-2">
      {ROLES.map((role) => (
        <li key={role}>
          <Card className="py-3">
            <CardTitle>{nameOfRole(role)}</CardTitle>
            <p className="text-soft">{ROLE_SUMMARIES[role]}</p>
            <ul className="mt-2 list-disc pl-5 text-sm text-ink marker:text-faint">
              {rightsOfRole(role).map((right) => (
                <li key={right}>{sentenceOfRight(right)}</li>
              ))}
            </ul>
          </Card>
        </li>
      ))}
    </ul>
  )
}

function hasRight(role: Role, right: string): boolean {
  return RIGHTS[right]?.roles.includes(role) === true
}

function Has({ isThere }: { readonly isThere: boolean }) {
  if (!isThere) {
    return (
      <span className="text-faint">
        <span aria-hidden>–</span>
        <span className="sr-only">No</span>
      </span>
    )
  }
  return (
    <span className="inline-flex items-center text-good">
      <Check aria-hidden className="size-4" />
      <span className="sr-only">Yes</span>
    </span>
  )
}
