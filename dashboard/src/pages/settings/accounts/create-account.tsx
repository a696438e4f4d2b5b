import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { RadioGroupField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { planText } from './plan-words.ts'
import { type Account, type Plan, plansQuery, useAccountActions } from './queries.ts'

interface CreateAccountProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly onCreated: (account: Account) => void
}

export function CreateAccount({ open, onClose, onCreated }: CreateAccountProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create account"
      description="Members, keys, usage and credit of their own. The credit of its plan for this month is granted at once."
    >
      <CreateForm onClose={onClose} onCreated={onCreated} />
    </Dialog>
  )
}

function CreateForm({ onClose, onCreated }: Omit<CreateAccountProps, 'open'>) {
  const plans = useQuery(plansQuery)
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<string>()
  const { create } = useAccountActions()
  return (
    <Loaded query={plans} what="plans">
      {(all) => {
        const plan = chosen ?? standardOf(all)
        const submit = async () => {
          const account = await create({ name: name.trim(), ...(plan !== undefined && { plan }) })
          toast(`The account “${account.name}” is there`)
          onCreated(account)
        }
        return (
          <Form onSubmit={submit} submitLabel="Create account" onCancel={onClose} disabled={name.trim() === ''}>
            <TextField
              label="Name"
              name="name"
              value={name}
              onChange={setName}
              maxLength={100}
              autoComplete="off"
              required
            />
            <RadioGroupField label="Plan" name="plan" value={plan} onChange={setChosen} options={all.map(optionOf)} />
          </Form>
        )
      }}
    </Loaded>
  )
}

function standardOf(plans: readonly Plan[]): string | undefined {
  return plans.find((plan) => plan.default)?.id
}

function optionOf(plan: Plan) {
  return { value: plan.id, label: plan.default ? `${plan.id} (default)` : plan.id, description: planText(plan) }
}
