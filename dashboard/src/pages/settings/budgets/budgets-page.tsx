/** The budgets of the account and of everything in it. */
import { Plus, Wallet } from 'lucide-react'
import { useCan } from '../../../api/me.ts'
import { useAccountNames } from '../../../api/names.ts'
import { Button } from '../../../ui/button.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden } from '../../../ui/states.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { BUDGET_TABS, type BudgetTab, readBudgetsSearch } from '../search.ts'
import { BudgetSheet } from './budget-sheet.tsx'
import { LEVEL_NAMES } from './budget-words.tsx'
import { BudgetsTable } from './budgets-table.tsx'
import { CreateBudget } from './create-budget.tsx'
import { NEW_BUDGET } from './draft.ts'
import { useBudgets } from './queries.ts'

const TITLE = 'Budgets'

export function BudgetsPage() {
  if (useCan('usage:read')) return <Budgets />
  return (
    <Page title={TITLE}>
      <Forbidden what="budgets" right="usage:read" />
    </Page>
  )
}

function Budgets() {
  const { level, budget, create } = useSearchOf(readBudgetsSearch)
  const change = useSearchChange()
  const canChange = useCan('billing')
  const pages = useBudgets(level)
  const { nameOf } = useAccountNames()
  const begin = () => change({ create: '1' })
  return (
    <Page
      title={TITLE}
      description="A request must fit every budget that it counts for. It holds its highest possible cost in all of them before it is sent."
      actions={
        canChange && (
          <Button variant="primary" icon={Plus} onClick={begin}>
            Create budget
          </Button>
        )
      }
      wide
    >
      <Tabs<BudgetTab | 'all'>
        label="Level"
        value={level ?? 'all'}
        onChange={(next) => change({ level: next === 'all' ? undefined : next })}
        items={[{ value: 'all', label: 'All' }, ...BUDGET_TABS.map((value) => ({ value, label: LEVEL_NAMES[value] }))]}
      >
        <PagedRows
          pages={pages}
          what="budgets"
          noun="budget"
          empty={<NoBudgets level={level} onCreate={canChange ? begin : undefined} />}
        >
          {(rows) => <BudgetsTable rows={rows} nameOf={nameOf} />}
        </PagedRows>
      </Tabs>
      <BudgetSheet id={budget} onClose={() => change({ budget: undefined })} />
      {canChange && (
        <CreateBudget
          open={create === '1'}
          initial={{ ...NEW_BUDGET, ...(level !== undefined && { level }) }}
          onClose={() => change({ create: undefined })}
        />
      )}
    </Page>
  )
}

interface NoBudgetsProps {
  readonly level: BudgetTab | undefined
  /** Undefined: not for this person. */
  readonly onCreate: (() => void) | undefined
}

function NoBudgets({ level, onCreate }: NoBudgetsProps) {
  return (
    <Empty
      icon={Wallet}
      title={level === undefined ? 'No budgets yet' : `No budgets of this level: ${LEVEL_NAMES[level].toLowerCase()}`}
      action={
        onCreate !== undefined && (
          <Button variant="primary" icon={Plus} onClick={onCreate}>
            Create budget
          </Button>
        )
      }
      command="turnpike budgets set --budget 500/month"
    >
      Limit the account, a team, a member, a key or a tag by day, week, month, quarter or in total.
    </Empty>
  )
}
