/** The active keys of a team, for those who may see keys. */
import { KeyRound, Plus } from 'lucide-react'
import { useCan } from '../../../api/me.ts'
import { LinkButton } from '../../../ui/button.tsx'
import { Section } from '../../../ui/page.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { LoadMore } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Time } from '../../../ui/values.tsx'
import { accessOf, Budget, KeyText } from '../keys/key-words.tsx'
import { type Team, type TeamKey, useTeamKeys } from './queries.ts'

export function TeamKeys({ team }: { readonly team: Pick<Team, 'id' | 'archived_at'> }) {
  const canSee = useCan('keys')
  const pages = useTeamKeys(team.id, canSee)
  if (!canSee) return null
  const create = team.archived_at === null && (
    <LinkButton icon={Plus} to="/settings/keys" search={{ create: '1', team: team.id }}>
      Create key
    </LinkButton>
  )
  return (
    <Section title="Keys" description="What they use counts for the team." actions={create}>
      <Loaded query={pages} what="its keys">
        {(rows) => (
          <>
            <Table
              label="Keys of the team"
              density="comfortable"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              rowHref={({ id }) => ({ to: '/settings/keys', search: { key: id } })}
              empty={
                <Empty icon={KeyRound} title="No active keys" className="py-8">
                  Programs of the team need a key of their own.
                </Empty>
              }
            />
            <LoadMore pages={pages} noun="key" />
          </>
        )}
      </Loaded>
    </Section>
  )
}

const COLUMNS: readonly Column<TeamKey>[] = [
  {
    id: 'name',
    header: 'Key',
    primary: true,
    cell: (row) => (
      <span className="block max-w-72 min-w-28 py-0.5">
        <span className="block truncate" title={row.name}>
          {row.name}
        </span>
        <span className="block font-normal">
          <KeyText row={row} />
        </span>
      </span>
    ),
  },
  { id: 'access', header: 'Access', cell: (row) => accessOf(row) },
  { id: 'budget', header: 'Budget', cell: (row) => <Budget row={row} /> },
  {
    id: 'used',
    header: 'Last used',
    cell: ({ last_used_at: at }) =>
      at === null ? <span className="text-soft">Never</span> : <Time iso={at} relative />,
  },
]
