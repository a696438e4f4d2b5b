/** What stops requests, or soon will: said where money is, with what to do about it. */
import { useCan } from '../../api/me.ts'
import { formatUsd } from '../../lib/format.ts'
import { formatDate } from '../../lib/time.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Notice } from '../../ui/notice.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { available } from './forecast.ts'
import { addMonths, monthAt } from './months.ts'
import type { Account, Usage } from './queries.ts'

interface CreditNoticesProps {
  readonly account: Account
  readonly month: Usage
}

export function CreditNotices({ account, month }: CreditNoticesProps) {
  const { credit_remaining_usd: balance, held_usd: held, unlimited } = month
  const { monthly_budget_usd: budget } = account
  const isOut = !unlimited && available(balance, held) <= 0
  return (
    <>
      {isOut && <OutOfCredit accountId={account.id} />}
      {budget !== null && month.total_cost_usd >= budget && <BudgetSpent budget={budget} />}
    </>
  )
}

function OutOfCredit({ accountId }: { readonly accountId: string }) {
  const isOperator = useCan('operator')
  const next = formatDate(`${addMonths(monthAt(useNow()), 1)}-01`)
  const action = isOperator && (
    <LinkButton to="/settings/accounts" search={{ selected: accountId, tab: 'credit' }}>
      Add credit
    </LinkButton>
  )
  return (
    <Notice tone="bad" title="Out of credit" action={action}>
      Requests are refused with 402 until there is credit again.{' '}
      {isOperator ? 'Add some' : 'Ask whoever runs this installation to add some'}, or wait for the allowance of the
      plan, if it has one, on {next}, 00:00 UTC.
    </Notice>
  )
}

function BudgetSpent({ budget }: { readonly budget: number }) {
  const next = formatDate(`${addMonths(monthAt(useNow()), 1)}-01`)
  const action = (
    <LinkButton to="/billing" search={{ tab: 'budget' }} resetScroll={false}>
      Change the budget
    </LinkButton>
  )
  return (
    <Notice tone="warn" title={`The monthly budget of ${formatUsd(budget)} is spent`} action={action}>
      Requests are refused with 402 until it is raised, or until {next}, 00:00 UTC.
    </Notice>
  )
}
