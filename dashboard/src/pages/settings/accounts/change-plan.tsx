/** Another plan for an account, with its effect said before it is chosen. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { RadioGroupField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { effectOf, planText } from './plan-words.ts'
import { type Account, type Plan, plansQuery, useAccountActions } from './queries.ts'

interface ChangePlanProps {
  readonly account: Account
}

export function ChangePlan({ account }: ChangePlanProps) {
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
      <Form onSubmit={ask} submitLabel="Continue" disabled={plan === account.plan}>
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
