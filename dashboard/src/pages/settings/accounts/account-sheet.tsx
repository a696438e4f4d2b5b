/** One account: its numbers, and the two things that its operator does with it. */
import { useQuery } from '@tanstack/react-query'
import { Tabs } from '../../../ui/choices.tsx'
import { CopyableId } from '../../../ui/copy.tsx'
import { Details } from '../../../ui/details.tsx'
import { Sheet } from '../../../ui/dialog.tsx'
import { Loaded, Skeleton } from '../../../ui/states.tsx'
import { Time, Tokens, Usd } from '../../../ui/values.tsx'
import { ChangePlan } from './change-plan.tsx'
import { GiveCredit } from './give-credit.tsx'
import { type Account, accountQuery } from './queries.ts'

interface AccountSheetProps {
  /** Undefined: closed. */
  readonly id: string | undefined
  /** `plan`; everything else: credit. */
  readonly tab: string | undefined
  /** The account as the list has it, until it is there itself. */
  readonly listed: Account | undefined
  readonly onTab: (tab: string) => void
  readonly onClose: () => void
}

export function AccountSheet({ id, tab, listed, onTab, onClose }: AccountSheetProps) {
  return (
    <Sheet
      open={id !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={listed?.name ?? 'Account'}
    >
      {id !== undefined && <SheetContent id={id} tab={tab} onTab={onTab} />}
    </Sheet>
  )
}

interface SheetContentProps extends Pick<AccountSheetProps, 'tab' | 'onTab'> {
  readonly id: string
}

function SheetContent({ id, tab, onTab }: SheetContentProps) {
  return (
    <Loaded query={useQuery(accountQuery(id))} what="this account" skeleton={<Skeleton className="h-64 w-full" />}>
      {(account) => (
        <div className="flex flex-col gap-6">
          <Figures account={account} />
          <Tabs
            label="What to do"
            value={tab === 'plan' ? 'plan' : 'credit'}
            onChange={onTab}
            items={[
              { value: 'credit', label: 'Give credit' },
              { value: 'plan', label: 'Change plan' },
            ]}
          >
            {tab === 'plan' ? (
              <ChangePlan key={account.plan} account={account} />
            ) : (
              <GiveCredit key={account.id} account={account} />
            )}
          </Tabs>
        </div>
      )}
    </Loaded>
  )
}

function Figures({ account }: { readonly account: Account }) {
  return (
    <Details
      items={[
        { label: 'Id', value: <CopyableId id={account.id} /> },
        { label: 'Plan', value: account.plan },
        { label: 'Balance', value: <Usd value={account.balance_usd} /> },
        { label: 'Held by requests', value: <Usd value={account.held_usd} /> },
        { label: 'Spent this month', value: <Usd value={account.spent_this_month_usd} /> },
        { label: 'Members', value: <Tokens value={account.members} /> },
        { label: 'Created', value: <Time iso={account.created_at} /> },
      ]}
    />
  )
}
