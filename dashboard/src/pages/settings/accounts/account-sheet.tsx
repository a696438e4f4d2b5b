/** One account: its numbers, and the two things that its operator does with it. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { formatExactUsd } from '../../../lib/format.ts'
import { sumUsd } from '../../../lib/money.ts'
import { toast } from '../../../ui/announcer.tsx'
import { CopyableId } from '../../../ui/copy.tsx'
import { ConfirmDialog, Sheet } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { Loaded, Skeleton } from '../../../ui/states.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { Details, Time, Tokens, Usd } from '../../../ui/values.tsx'
import { effectOf, planText, readUsd } from './plan-words.ts'
import { type Account, accountQuery, type CreditBody, type Plan, plansQuery, useAccountActions } from './queries.ts'

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
        { label: 'Balance', value: <Usd value={account.balance_usd} exact /> },
        { label: 'Held by requests', value: <Usd value={account.held_usd} exact /> },
        { label: 'Spent this month', value: <Usd value={account.spent_this_month_usd} exact /> },
        { label: 'Margin this month', value: <Usd value={account.margin_this_month_usd} exact /> },
        { label: 'Members', value: <Tokens value={account.members} /> },
        { label: 'Created', value: <Time iso={account.created_at} /> },
      ]}
    />
  )
}

interface ChangePlanProps {
  readonly account: Account
}

function ChangePlan({ account }: ChangePlanProps) {
  return (
    <Loaded query={useQuery(plansQuery)} what="plans">
      {(plans) => <PlanForm account={account} plans={plans} />}
    </Loaded>
  )
}

function PlanForm({ account, plans }: ChangePlanProps & { readonly plans: readonly Plan[] }) {
  const [plan, setPlan] = useState(account.plan)
  const [asked, setAsked] = useState<Plan>()
  const { changePlan } = useAccountActions()
  const ask = async () => setAsked(plans.find(({ id }) => id === plan))
  return (
    <>
      <Form onSubmit={ask} submitLabel="Continue" missing={plan === account.plan ? 'Choose another plan.' : undefined}>
        <RadioGroupField
          label="Plan"
          value={plan}
          onChange={setPlan}
          options={plans.map((each) => ({
            value: each.id,
            label: each.id === account.plan ? `${each.id} (now)` : each.id,
            description: planText(each),
          }))}
        />
      </Form>
      <ConfirmDialog
        open={asked !== undefined}
        onOpenChange={(open) => {
          if (!open) setAsked(undefined)
        }}
        title={`Change the plan of “${account.name}” to ${asked?.id ?? ''}?`}
        confirmLabel="Change plan"
        onConfirm={async () => {
          if (asked === undefined) return
          await changePlan(account.id, asked.id)
          toast(`“${account.name}” has the plan ${asked.id}`)
        }}
      >
        {asked !== undefined && <Effects before={plans.find(({ id }) => id === account.plan)} after={asked} />}
      </ConfirmDialog>
    </>
  )
}

function Effects({ before, after }: { readonly before: Plan | undefined; readonly after: Plan }) {
  return (
    <ul className="flex list-disc flex-col gap-1 pl-5">
      {effectOf(before, after).map((effect) => (
        <li key={effect}>{effect}</li>
      ))}
    </ul>
  )
}

type Kind = CreditBody['kind']

const KINDS: readonly { readonly value: Kind; readonly label: string; readonly description: string }[] = [
  { value: 'grant', label: 'Grant', description: 'Free credit' },
  { value: 'purchase', label: 'Purchase', description: 'Paid for' },
  { value: 'refund', label: 'Refund', description: 'Returned to the customer' },
  { value: 'debit', label: 'Debit', description: 'A chargeback or a correction' },
]
const MAX_NOTE_LENGTH = 500

function GiveCredit({ account }: { readonly account: Account }) {
  const [kind, setKind] = useState<Kind>('grant')
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const [asked, setAsked] = useState<Asked>()
  const { usd, problem } = readUsd(amount)
  const isDebit = kind === 'debit'
  const lacksNote = isDebit && note.trim() === ''
  const missing = usd === undefined ? 'Enter an amount.' : lacksNote ? 'Enter a note.' : undefined
  const ask = async () => {
    if (usd === undefined) return
    const body = { kind, usd, ...(note.trim() !== '' && { note: note.trim() }) }
    setAsked({ body, key: crypto.randomUUID() })
  }
  const done = () => {
    setAmount('')
    setNote('')
  }
  return (
    <>
      <Form onSubmit={ask} submitLabel="Continue" missing={missing}>
        <RadioGroupField label="Kind" value={kind} onChange={setKind} options={KINDS} />
        <TextField
          label="Amount"
          description={`${isDebit ? 'Taken from' : 'Added to'} the balance. At most 9 decimals.`}
          prefix="$"
          suffix="USD"
          inputMode="decimal"
          autoComplete="off"
          required
          value={amount}
          onChange={setAmount}
          error={problem}
        />
        <TextField
          label="Note"
          description={`The reason. The customer sees it.${isDebit ? ' Required for a debit.' : ''}`}
          required={isDebit}
          maxLength={MAX_NOTE_LENGTH}
          autoComplete="off"
          value={note}
          onChange={setNote}
        />
      </Form>
      <ConfirmCredit account={account} asked={asked} onClose={() => setAsked(undefined)} onDone={done} />
    </>
  )
}

interface Asked {
  readonly body: CreditBody
  /** Sent with every try, so that one entry is made. */
  readonly key: string
}

interface ConfirmCreditProps {
  readonly account: Account
  /** Undefined: nothing is asked. */
  readonly asked: Asked | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

function ConfirmCredit({ account, asked, onClose, onDone }: ConfirmCreditProps) {
  const { enterCredit } = useAccountActions()
  const { kind = 'grant', usd = 0, note } = asked?.body ?? {}
  const isDebit = kind === 'debit'
  const give = async () => {
    if (asked === undefined) return
    const { amount_usd, balance_usd } = await enterCredit(account.id, asked.body, asked.key)
    const moved = isDebit ? `lost ${formatExactUsd(-amount_usd)}` : `got ${formatExactUsd(amount_usd)}`
    toast(`“${account.name}” ${moved}; its balance is ${formatExactUsd(balance_usd)}`)
    onDone()
  }
  const after = sumUsd([account.balance_usd, isDebit ? -usd : usd])
  const name = KINDS.find(({ value }) => value === kind)?.label ?? kind
  return (
    <ConfirmDialog
      open={asked !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`${name}: ${formatExactUsd(usd)} for “${account.name}”?`}
      confirmLabel={`${isDebit ? 'Take' : 'Add'} ${formatExactUsd(usd)}`}
      onConfirm={give}
    >
      <p>
        The balance goes from {formatExactUsd(account.balance_usd)} to {formatExactUsd(after)}, unless other entries
        change it meanwhile.
      </p>
      {note !== undefined && <p>Note for the customer: “{note}”</p>}
      <p>Ledger entries cannot be deleted, only corrected by another entry.</p>
    </ConfirmDialog>
  )
}
