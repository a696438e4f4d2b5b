/** Credit for an account, or a debit: what it is for, how much, and a second look before it is a row of the ledger. */
import { useState } from 'react'
import { formatUsd } from '../../../lib/format.ts'
import { sumUsd } from '../../../lib/money.ts'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { RadioGroupField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { type Account, type CreditBody, useAccountActions } from './queries.ts'
import { readUsd } from './usd-text.ts'

type Kind = CreditBody['kind']

const KINDS: readonly { readonly value: Kind; readonly label: string; readonly description: string }[] = [
  { value: 'grant', label: 'Grant', description: 'Given for nothing' },
  { value: 'purchase', label: 'Purchase', description: 'Paid for' },
  { value: 'refund', label: 'Refund', description: 'Given back to the customer' },
  { value: 'debit', label: 'Debit', description: 'Taken away: a chargeback or a correction' },
]
const MAX_NOTE_LENGTH = 500

export function GiveCredit({ account }: { readonly account: Account }) {
  const [kind, setKind] = useState<Kind>('grant')
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const [asked, setAsked] = useState<Asked>()
  const { usd, problem } = readUsd(amount)
  const isDebit = kind === 'debit'
  const lacksNote = isDebit && note.trim() === ''
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
      <Form onSubmit={ask} submitLabel="Continue" disabled={usd === undefined || lacksNote}>
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
          description={`Why. The customer sees it.${isDebit ? ' Required for a debit.' : ''}`}
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
    const moved = isDebit ? `lost ${formatUsd(-amount_usd)}` : `got ${formatUsd(amount_usd)}`
    toast(`“${account.name}” ${moved}; its balance is ${formatUsd(balance_usd)}`)
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
      title={`${name}: ${formatUsd(usd)} for “${account.name}”?`}
      confirmLabel={`${isDebit ? 'Take' : 'Add'} ${formatUsd(usd)}`}
      onConfirm={give}
    >
      <p>
        The balance goes from {formatUsd(account.balance_usd)} to {formatUsd(after)}, if nothing else moves it
        meanwhile.
      </p>
      {note !== undefined && <p>Note for the customer: “{note}”</p>}
      <p>A row of the ledger cannot be taken back, only corrected by another one.</p>
    </ConfirmDialog>
  )
}
