import { useNavigate } from '@tanstack/react-router'
import { Plus, UsersRound } from 'lucide-react'
import { useCan, useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden } from '../../../ui/states.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { Dash, Time, Usd } from '../../../ui/values.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { limitText, shareOf, UsedOf } from '../budgets/budget-words.tsx'
import { readTeamsSearch, TEAM_TABS, type TeamTab } from '../search.ts'
import { bodyOf, limitsText, NEW_TEAM } from './draft.ts'
import { type Team, useTeamActions, useTeamSpend, useTeams } from './queries.ts'
import { TeamForm } from './team-form.tsx'

const TITLE = 'Teams'
const TAB_NAMES: Readonly<Record<TeamTab, string>> = { active: 'Active', archived: 'Archived' }

export function TeamsPage() {
  if (useCan('teams:read')) return <Teams />
  return (
    <Page title={TITLE}>
      <Forbidden what="teams" right="teams:read" />
    </Page>
  )
}

function Teams() {
  const { account } = useMe()
  const canManage = useCan('teams')
  const { status = 'active', create } = useSearchOf(readTeamsSearch)
  const change = useSearchChange()
  const pages = useTeams(status)
  const begin = () => change({ create: '1' })
  return (
    <Page
      title={TITLE}
      description={`Teams group people and API keys of ${account.name}, and limit what they can use together.`}
      actions={
        canManage && (
          <Button variant="primary" icon={Plus} onClick={begin}>
            Create team
          </Button>
        )
      }
      wide
    >
      <Tabs
        label="Status"
        value={status}
        onChange={(next) => change({ status: next === 'active' ? undefined : next })}
        items={TEAM_TABS.map((value) => ({ value, label: TAB_NAMES[value] }))}
      >
        <PagedRows
          pages={pages}
          what="teams"
          noun="team"
          empty={<NoTeams status={status} onCreate={canManage ? begin : undefined} />}
        >
          {(rows) => <TeamsTable rows={rows} />}
        </PagedRows>
      </Tabs>
      {canManage && <CreateTeam open={create === '1'} onClose={() => change({ create: undefined })} />}
    </Page>
  )
}

interface NoTeamsProps {
  readonly status: TeamTab
  /** Undefined: not for this person. */
  readonly onCreate: (() => void) | undefined
}

function NoTeams({ status, onCreate }: NoTeamsProps) {
  if (status === 'archived') return <Empty icon={UsersRound} title="No team has been archived" />
  return (
    <Empty
      icon={UsersRound}
      title="No teams yet"
      action={
        onCreate !== undefined && (
          <Button variant="primary" icon={Plus} onClick={onCreate}>
            Create team
          </Button>
        )
      }
      command="turnpike teams create --name Search"
    >
      Give a team its own members, keys, models and budgets, and see what it spends.
    </Empty>
  )
}

interface CreateTeamProps {
  readonly open: boolean
  readonly onClose: () => void
}

function CreateTeam({ open, onClose }: CreateTeamProps) {
  const { create } = useTeamActions()
  const navigate = useNavigate()
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create a team"
      description="Members, keys and budgets are added next."
    >
      <TeamForm
        initial={NEW_TEAM}
        submitLabel="Create team"
        onCancel={onClose}
        onSubmit={async (draft) => {
          const { id, name } = await create(bodyOf(draft))
          toast(`“${name}” created`)
          await navigate({ to: '/settings/teams/$teamId', params: { teamId: id } })
        }}
      />
    </Dialog>
  )
}

function TeamsTable({ rows }: { readonly rows: readonly Team[] }) {
  const canRead = useCan('usage:read')
  const { data: spend } = useTeamSpend()
  const spent: Column<Team> = {
    id: 'spent',
    header: 'Spent this month',
    align: 'right',
    cell: ({ id }) => (spend === undefined ? <Dash /> : <Usd value={spend.get(id) ?? 0} />),
  }
  return (
    <Table
      label="Teams"
      density="comfortable"
      columns={[NAME, ...(canRead ? [spent] : []), BUDGET, CREATED]}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({ to: '/settings/teams/$teamId', params: { teamId: id } })}
    />
  )
}

const NAME: Column<Team> = {
  id: 'name',
  header: 'Team',
  primary: true,
  cell: (row) => {
    const limits = limitsText(row) ?? 'All models and endpoints'
    return (
      <span className="block max-w-80 min-w-40 py-0.5">
        <span className="block truncate" title={row.name}>
          {row.name}
        </span>
        <span className="block truncate text-sm font-normal text-soft" title={limits}>
          {limits}
        </span>
      </span>
    )
  },
}

/** The one that is fullest. */
const BUDGET: Column<Team> = {
  id: 'budget',
  header: 'Budget',
  cell: ({ budgets }) => {
    const [fullest] = budgets.toSorted((one, other) => shareOf(other) - shareOf(one))
    if (fullest === undefined) return <Dash />
    return (
      <span className="flex flex-col gap-0.5 max-md:items-end">
        <UsedOf budget={fullest} />
        <span className="text-xs text-soft">
          {limitText(fullest)}
          {budgets.length > 1 && `, and ${budgets.length - 1} more`}
        </span>
      </span>
    )
  },
}

const CREATED: Column<Team> = {
  id: 'created',
  header: 'Created',
  cell: ({ created_at: at }) => <Time iso={at} relative />,
}
