/** What is there, what of it is promised, how long it lasts, and what the plan lets one do. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { available, lastingText } from '../../lib/days-left.ts'
import { formatCount, formatPercent, formatUsd } from '../../lib/format.ts'
import { formatDate, monthName } from '../../lib/time.ts'
import { monthUsageQuery } from '../../shell/balance-chip.tsx'
import { accountQuery, useLasting } from '../../shell/lasting.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, Stat } from '../../ui/page.tsx'
import { Loaded, Skeleton } from '../../ui/states.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { UsedBar } from '../../ui/used-bar.tsx'
import { addMonths, monthAt } from './months.ts'
import type { Account, Usage } from './queries.ts'

export function CreditSummary() {
  const account = useQuery(accountQuery)
  const usage = useQuery(monthUsageQuery)
  return (
    <Loaded query={account} what="the account" skeleton={<Skeleton className="h-40 w-full" />}>
      {(own) => (
        <Loaded query={usage} what="the balance" skeleton={<Skeleton className="h-40 w-full" />}>
          {(month) => <Summary account={own} month={month} />}
        </Loaded>
      )}
    </Loaded>
  )
}

interface SummaryProps {
  readonly account: Account
  readonly month: Usage
}

function Summary({ account, month }: SummaryProps) {
  return (
    <div className="flex flex-col gap-4">
      <CreditNotices account={account} month={month} />
      <Card className="px-0 py-0">
        <div className="grid gap-x-6 gap-y-5 p-4 min-[24rem]:grid-cols-2 xl:grid-cols-4">
          <Balance month={month} />
          <Allowance account={account} />
          <Spent account={account} month={month} />
          <DaysLeft />
        </div>
        <Plan account={account} />
      </Card>
    </div>
  )
}

function Balance({ month }: Pick<SummaryProps, 'month'>) {
  const { credit_remaining_usd: balance, held_usd: held, unlimited } = month
  const holds = held === 0 ? 'No holds' : `${formatUsd(held)} held by requests in flight`
  if (unlimited) return <Stat label="Balance" value="No limit" hint="Postpaid" />
  return <Stat label="Balance" value={formatUsd(balance)} hint={holds} />
}

function Allowance({ account: { allowance_usd: left } }: Pick<SummaryProps, 'account'>) {
  const resets = formatDate(`${addMonths(monthAt(useNow()), 1)}-01`)
  const hint = left === 0 ? `Next month begins on ${resets}` : `Expires on ${resets}, 00:00 UTC`
  return <Stat label="Allowance left" value={formatUsd(left)} hint={hint} />
}

function Spent({ account: { monthly_budget_usd: budget }, month }: SummaryProps) {
  const { total_cost_usd: cost } = month
  const name = monthName(monthAt(useNow()))
  if (budget === null) return <Stat label={`Used in ${name}`} value={formatUsd(cost)} hint="No budget set" />
  const share = budget === 0 ? 1 : cost / budget
  const hint = (
    <>
      {formatPercent(share, 0)} of the budget of {formatUsd(budget)}
      <UsedBar share={share} className="mt-1.5" />
    </>
  )
  return <Stat label={`Used in ${name}`} value={formatUsd(cost)} hint={hint} />
}

function DaysLeft() {
  const known = useLasting()
  const label = 'Credit lasts'
  if (known === undefined) return <Stat label={label} value={<Skeleton className="my-1 h-5 w-20" />} />
  const { lasting, perDayUsd, hasLimits } = known
  const rate = `${formatUsd(perDayUsd)} a day in the last 7 days`
  if (!hasLimits) return <Stat label={label} value="No limit" hint={rate} />
  if (perDayUsd <= 0 && lasting === undefined)
    return <Stat label={label} value="—" hint="No usage in the last 7 days" />
  if (lasting === undefined) return <Stat label={label} value="No limit reached" hint={`With ${rate}`} />
  return <Stat label={label} value={lastingText(lasting)} hint={`By ${lasting.limit.name}, with ${rate}`} />
}

function Plan({ account: { plan, limits } }: Pick<SummaryProps, 'account'>) {
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-1 border-t border-line px-4 py-2.5 text-sm">
      <Fact name="Plan">
        <strong className="font-medium text-ink">{plan}</strong>
      </Fact>
      <Fact name="Requests per minute">{limitText(limits.requests_per_minute)}</Fact>
      <Fact name="Tokens per minute">{limitText(limits.tokens_per_minute)}</Fact>
      <Fact name="Concurrent requests">{formatCount(limits.max_in_flight)}</Fact>
    </dl>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex gap-1.5">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 break-words text-ink">{children}</dd>
    </div>
  )
}

function limitText(limit: number | null): string {
  return limit === null ? 'no limit' : formatCount(limit)
}

interface CreditNoticesProps {
  readonly account: Account
  readonly month: Usage
}

/** What rejects requests now or soon, and what to do about it. */
function CreditNotices({ account, month }: CreditNoticesProps) {
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
      Requests are rejected with 402 until credit is added.{' '}
      {isOperator ? 'Add credit' : 'Ask the operator of this installation to add credit'}, or wait for the plan’s
      allowance, if any, on {next}, 00:00 UTC.
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
      Requests are rejected with 402 until you raise it, or until {next}, 00:00 UTC.
    </Notice>
  )
}
