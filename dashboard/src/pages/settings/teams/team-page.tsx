/** One team: what it spends, its budgets, its members, its keys, and its limits. */
import { useParams } from '@tanstack/react-router'
import { Archive, ChartColumn, Pencil, Plus } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { useAccountNames } from '../../../api/names.ts'
import { formatCount, plural } from '../../../lib/format.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button, LinkButton } from '../../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx'
import { Card, Page, Section, Stat } from '../../../ui/page.tsx'
import { Empty, Forbidden, Loaded, Skeleton } from '../../../ui/states.tsx'
import { Details, Time, Usd } from '../../../ui/values.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { BudgetSheet } from '../budgets/budget-sheet.tsx'
import { BudgetsTable } from '../budgets/budgets-table.tsx'
import { CreateBudget } from '../budgets/create-budget.tsx'
import { NEW_BUDGET } from '../budgets/draft.ts'
import { useBudgetsOf } from '../budgets/queries.ts'
import { tagTexts } from '../keys/tags.ts'
import { readTeamSearch } from '../search.ts'
import { bodyOf, draftOf, ENDPOINT_NAMES, policyTextOf } from './draft.ts'
import { useTeam, useTeamActions, useUsageOfTeam } from './queries.ts'
import { TeamForm } from './team-form.tsx'
import { TeamKeys } from './team-keys.tsx'
import { TeamMembers } from './team-members.tsx'

const PARENT = { label: 'Teams', to: '/settings/teams' }

export function TeamPage() {
  if (useCan('teams:read')) return <TeamOfAddress />
  return (
    <Page title="Team">
      <Forbidden what="teams" right="teams:read" />
    </Page>
  )
}

type DetailedTeam = NonNullable<ReturnType<typeof useTeam>['data']>
interface PartProps {
  readonly team: DetailedTeam
}

function TeamOfAddress() {
  const { teamId } = useParams({ from: '/settings/teams/$teamId' })
  const query = useTeam(teamId)
  return (
    <Page
      title={query.data?.name ?? 'Team'}
      parent={PARENT}
      description={query.data !== undefined && <Since team={query.data} />}
      actions={query.data !== undefined && <Actions team={query.data} />}
      wide
    >
      <Loaded query={query} what="this team" skeleton={<Skeleton className="h-24 w-full" />}>
        {(team) => <Parts team={team} />}
      </Loaded>
    </Page>
  )
}

function Since({ team: { created_at: created, archived_at: archived } }: PartProps) {
  if (archived === null) {
    return (
      <>
        Team since <Time iso={created} relative />
      </>
    )
  }
  return (
    <>
      Archived <Time iso={archived} relative />. Its keys are rejected; its usage stays.
    </>
  )
}

function Actions({ team }: PartProps) {
  const canManage = useCan('teams') && team.archived_at === null
  const canReadUsage = useCan('usage:read')
  const change = useSearchChange()
  const { edit } = useSearchOf(readTeamSearch)
  const [isArchiving, setArchiving] = useState(false)
  return (
    <>
      {canReadUsage && (
        <LinkButton
          icon={ChartColumn}
          to="/usage"
          search={{ show: 'costs', dims: 'model', team_id: team.id, range: 'month' }}
        >
          Costs
        </LinkButton>
      )}
      {canManage && (
        <>
          <Button icon={Pencil} onClick={() => change({ edit: 'settings' })}>
            Edit
          </Button>
          <Button icon={Archive} onClick={() => setArchiving(true)}>
            Archive
          </Button>
          <EditTeam team={team} open={edit === 'settings'} onClose={() => change({ edit: undefined })} />
          <ArchiveTeam team={team} open={isArchiving} onOpenChange={setArchiving} />
        </>
      )}
    </>
  )
}

interface EditTeamProps extends PartProps {
  readonly open: boolean
  readonly onClose: () => void
}

function EditTeam({ team, open, onClose }: EditTeamProps) {
  const { change } = useTeamActions()
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title={`Edit “${team.name}”`}
      description="Changes apply within a second."
    >
      <TeamForm
        initial={draftOf(team)}
        submitLabel="Save changes"
        onCancel={onClose}
        onSubmit={async (draft) => {
          await change(team.id, bodyOf(draft))
          toast('Team saved')
          onClose()
        }}
      />
    </Dialog>
  )
}

interface ArchiveTeamProps extends PartProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

function ArchiveTeam({ team, open, onOpenChange }: ArchiveTeamProps) {
  const { archive } = useTeamActions()
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={`Archive “${team.name}”?`}
      confirmLabel="Archive team"
      danger
      typeToConfirm={team.name}
      onConfirm={async () => {
        await archive(team.id)
        toast(`“${team.name}” is archived`)
      }}
    >
      <p>{team.keys === 0 ? 'It has no active keys.' : `Its ${plural(team.keys, 'key')} stop within a second.`}</p>
      <p>This cannot be undone. Usage and budgets stay on record.</p>
    </ConfirmDialog>
  )
}

function Parts({ team }: PartProps) {
  const canReadUsage = useCan('usage:read')
  return (
    <>
      {canReadUsage && <Spend team={team} />}
      {canReadUsage && <Budgets team={team} />}
      <TeamMembers team={team} />
      <TeamKeys team={team} />
      <Section title="Limits and tags">
        <Card className="max-w-2xl py-1">
          <Details items={limitsOf(team)} />
        </Card>
      </Section>
    </>
  )
}

function limitsOf(team: DetailedTeam): readonly { readonly label: string; readonly value: ReactNode }[] {
  const { models, endpoints, requests_per_minute: rate, tags, require_tags: required } = team
  return [
    { label: 'Models', value: models.length === 0 ? 'All, future ones included' : models.join(', ') },
    {
      label: 'Endpoints',
      value: endpoints.length === 0 ? 'All' : endpoints.map((each) => ENDPOINT_NAMES[each]).join(', '),
    },
    { label: 'Requests per minute', value: rate === null ? 'No limit of the team' : formatCount(rate) },
    { label: 'Data policy', value: policyTextOf(team) ?? 'None of the team' },
    { label: 'Tags', value: Object.keys(tags).length === 0 ? 'None' : tagTexts(tags).join(', ') },
    { label: 'Required tags', value: required.length === 0 ? 'None' : required.join(', ') },
  ]
}

function Spend({ team }: PartProps) {
  return (
    <Loaded query={useUsageOfTeam(team.id)} what="its usage" skeleton={<Skeleton className="h-24 w-full" />}>
      {({ total_cost_usd: usd, total_requests: requests, total_tokens: tokens }) => (
        <Card>
          <div className="grid grid-cols-2 gap-x-6 gap-y-5 lg:grid-cols-4">
            <Stat label="Spent this month" value={<Usd value={usd} />} hint="UTC" />
            <Stat label="Requests" value={formatCount(requests)} hint={`${formatCount(tokens)} tokens`} />
            <Stat label="Members" value={formatCount(team.members)} />
            <Stat label="Active keys" value={formatCount(team.keys)} />
          </div>
        </Card>
      )}
    </Loaded>
  )
}

function Budgets({ team }: PartProps) {
  const canChange = useCan('billing') && team.archived_at === null
  const { edit, budget } = useSearchOf(readTeamSearch)
  const change = useSearchChange()
  const { nameOf } = useAccountNames()
  const subject = { level: 'team', subject: team.id } as const
  const add = () => change({ edit: 'budget' })
  return (
    <Section
      title="Budgets"
      description="Its requests must fit each of them, and those of the account."
      actions={
        canChange && (
          <Button icon={Plus} onClick={add}>
            Add budget
          </Button>
        )
      }
    >
      <Loaded query={useBudgetsOf(subject)} what="its budgets">
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No budgets of this team" className="py-8">
              Only the credit and the budgets of the account, its members and keys limit it.
            </Empty>
          ) : (
            <BudgetsTable
              rows={rows}
              nameOf={nameOf}
              at="/settings/teams/$teamId"
              params={{ teamId: team.id }}
              isOfOne
            />
          )
        }
      </Loaded>
      <BudgetSheet id={budget} onClose={() => change({ budget: undefined })} />
      {canChange && (
        <CreateBudget
          open={edit === 'budget'}
          initial={{ ...NEW_BUDGET, ...subject }}
          isFixed
          onClose={() => change({ edit: undefined })}
        />
      )}
    </Section>
  )
}
