/** Credit by payment: buying it, the saved payment method, automatic recharge, and what was paid. */
import { useQuery } from '@tanstack/react-query'
import { CreditCard } from 'lucide-react'
import { useState } from 'react'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { NumberField } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { CheckboxField } from '../../ui/form/toggle-fields.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, Section } from '../../ui/page.tsx'
import { Empty, Loaded, Skeleton } from '../../ui/states.tsx'
import { StatusChip, type Tone } from '../../ui/status.tsx'
import { LoadMore } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Time, Usd } from '../../ui/values.tsx'
import { type Billing, billingQuery, type Payment, usePaymentActions, usePayments } from './queries.ts'

const LEAST_USD = 1
const MOST_USD = 100_000

export function PaymentsView() {
  return (
    <Loaded query={useQuery(billingQuery)} what="payments" skeleton={<Skeleton className="h-72 w-full" />}>
      {(billing) =>
        billing.payments_enabled ? (
          <div className="flex flex-col gap-8">
            <TopUp />
            <Method method={billing.payment_method} />
            <Recharge billing={billing} key={JSON.stringify(billing.auto_recharge)} />
            <PaymentList />
          </div>
        ) : (
          <Empty icon={CreditCard} title="This gateway takes no payments">
            Its operator adds credit, or sets <code className="font-mono">STRIPE_SECRET_KEY</code> for payments by
            Stripe.
          </Empty>
        )
      }
    </Loaded>
  )
}

function TopUp() {
  const [usd, setUsd] = useState<number | undefined>(25)
  const [saves, setSaves] = useState(false)
  const { topUp } = usePaymentActions()
  const pay = async () => {
    if (usd !== undefined) window.location.assign((await topUp(usd, saves)).url)
  }
  return (
    <Section title="Add credit" description="You pay on a page of Stripe. The credit is there seconds after it.">
      <Card className="max-w-2xl">
        <Form
          onSubmit={pay}
          submitLabel="Continue to payment"
          missing={usd === undefined ? 'Enter an amount.' : undefined}
        >
          <AmountField label="Amount" name="usd" value={usd} onChange={setUsd} />
          <CheckboxField
            label="Save the payment method"
            description="For automatic recharge."
            name="save_payment_method"
            checked={saves}
            onChange={setSaves}
          />
        </Form>
      </Card>
    </Section>
  )
}

interface AmountFieldProps {
  readonly label: string
  readonly name: string
  readonly description?: string
  readonly min?: number
  readonly value: number | undefined
  readonly onChange: (usd: number | undefined) => void
}

function AmountField({ min = LEAST_USD, ...field }: AmountFieldProps) {
  return <NumberField prefix="$" suffix="USD" min={min} max={MOST_USD} className="max-w-sm" {...field} />
}

function Method({ method }: { readonly method: Billing['payment_method'] }) {
  const [isAsked, setAsked] = useState(false)
  const { removeMethod } = usePaymentActions()
  const name = method === null ? '' : `${method.brand} ending in ${method.last4}`
  return (
    <Section title="Payment method">
      <Card className="flex max-w-2xl flex-wrap items-center justify-between gap-3">
        <p className={method === null ? 'text-soft' : ''}>
          {method === null ? 'None is saved. Save one when you add credit.' : name}
        </p>
        {method !== null && <Button onClick={() => setAsked(true)}>Remove</Button>}
      </Card>
      <ConfirmDialog
        open={isAsked}
        onOpenChange={setAsked}
        title={`Remove ${name}?`}
        confirmLabel="Remove payment method"
        danger
        onConfirm={async () => {
          await removeMethod()
          toast('Payment method removed')
        }}
      >
        Automatic recharge ends with it.
      </ConfirmDialog>
    </Section>
  )
}

function Recharge({ billing: { auto_recharge: current, payment_method: method } }: { readonly billing: Billing }) {
  const [below, setBelow] = useState(current?.below_usd)
  const [add, setAdd] = useState(current?.add_usd)
  const [limit, setLimit] = useState(current?.monthly_limit_usd)
  const { changeRecharge } = usePaymentActions()
  const isWhole = below !== undefined && add !== undefined && limit !== undefined
  const save = async () => {
    if (!isWhole) return
    await changeRecharge({ below_usd: below, add_usd: add, monthly_limit_usd: limit })
    toast('Automatic recharge saved')
  }
  const turnOff = async () => {
    await changeRecharge(null)
    toast('Automatic recharge is off')
  }
  return (
    <Section
      title="Automatic recharge"
      description="Charges the saved payment method whenever the balance falls below an amount."
    >
      {current !== null && current.error !== null && (
        <Notice tone="bad" title="The last recharge failed">
          {current.error} Nothing is charged until you save the settings again.
        </Notice>
      )}
      <Card className="flex max-w-2xl flex-col gap-3">
        <Form onSubmit={save} submitLabel="Save" missing={isWhole ? undefined : 'Enter three amounts.'}>
          <AmountField label="When the balance is below" name="below_usd" min={0} value={below} onChange={setBelow} />
          <AmountField label="Add" name="add_usd" value={add} onChange={setAdd} />
          <AmountField
            label="At most in a month"
            name="monthly_limit_usd"
            description="Calendar month, UTC."
            value={limit}
            onChange={setLimit}
          />
        </Form>
        <p className="text-sm text-soft">
          {current === null ? 'It is off.' : method === null ? 'It waits for a saved payment method.' : 'It is on.'}
        </p>
        {current !== null && (
          <Button className="self-start" onClick={() => void turnOff()}>
            Turn off
          </Button>
        )}
      </Card>
    </Section>
  )
}

function PaymentList() {
  const pages = usePayments()
  return (
    <Section title="Payments">
      <Loaded query={pages} what="payments">
        {(rows) => (
          <div>
            <Table
              label="Payments"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              empty={
                <Empty icon={CreditCard} title="No payments yet">
                  Purchases of credit and automatic recharges appear here.
                </Empty>
              }
            />
            <LoadMore pages={pages} noun="payment" />
          </div>
        )}
      </Loaded>
    </Section>
  )
}

const STATUSES: Readonly<Record<Payment['status'], readonly [tone: Tone, name: string]>> = {
  pending: ['neutral', 'Pending'],
  succeeded: ['good', 'Succeeded'],
  failed: ['bad', 'Failed'],
}

const COLUMNS: readonly Column<Payment>[] = [
  { id: 'created', header: 'Begun', primary: true, cell: ({ created_at }) => <Time iso={created_at} /> },
  { id: 'kind', header: 'Kind', cell: ({ kind }) => (kind === 'top_up' ? 'Purchase' : 'Automatic recharge') },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status, error }) => (
      <span title={error ?? undefined}>
        <StatusChip tone={STATUSES[status][0]}>{STATUSES[status][1]}</StatusChip>
        {error !== null && <span className="ml-2 text-sm text-soft">{error}</span>}
      </span>
    ),
  },
  {
    id: 'amount',
    header: 'Amount',
    align: 'right',
    cell: ({ amount_usd }) => <Usd value={amount_usd} />,
  },
]
