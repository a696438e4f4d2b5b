/** How much a month may cost, and when to be told. */
import { useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { toast } from '../../ui/announcer.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { NumberField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Section } from '../../ui/page.tsx'
import { type Account, useChangeAccount } from './queries.ts'
import { ThresholdsField } from './thresholds-field.tsx'

export function BudgetForm({ account }: { readonly account: Account }) {
  const [budget, setBudget] = useState(account.monthly_budget_usd ?? undefined)
  const [thresholds, setThresholds] = useState<readonly number[]>(account.alert_thresholds)
  const change = useChangeAccount()
  const save = async () => {
    const changes = { monthly_budget_usd: budget ?? null, alert_thresholds: [...thresholds] }
    await change(changes).catch(aboutTheField)
    toast('Budget and alerts are saved')
  }
  return (
    <Section
      title="Budget and alerts"
      description="Of the whole account. API keys can have budgets of their own. Owners, admins and billing members may change this."
    >
      <Card className="max-w-2xl">
        <Form onSubmit={save} submitLabel="Save">
          <NumberField
            label="Monthly budget"
            name="monthly_budget_usd"
            description="The most that the account may spend in a month (UTC). Requests beyond it are refused with 402. Empty: no limit."
            prefix="$"
            suffix="USD"
            min={0}
            value={budget}
            onChange={setBudget}
            placeholder="No limit"
            className="max-w-sm"
          />
          <ThresholdsField name="alert_thresholds" value={thresholds} onChange={setThresholds} />
          <p className="text-sm text-soft">
            Alerts are events of the type <code className="font-mono">usage.alert</code>.{' '}
            <AppLink to="/webhooks" className="text-accent underline underline-offset-2">
              Webhooks
            </AppLink>{' '}
            bring them to where people look.
          </p>
        </Form>
      </Card>
    </Section>
  )
}

/** What is said of one entry of a list is said beside the list. */
function aboutTheField(error: unknown): never {
  if (!(error instanceof ApiProblem) || error.param === undefined) throw error
  const { message, ...details } = error
  throw new ApiProblem(message, { ...details, param: error.param.replace(/\[.*/, '') })
}
