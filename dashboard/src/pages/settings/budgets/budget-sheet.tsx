/** One budget: where it stands, its raises, and everything that changes it. */
import { CircleStop, Trash2, TrendingUp } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { useAccountNames } from '../../../api/names.ts'
import { formatExactUsd } from '../../../lib/format.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { CopyableId } from '../../../ui/copy.tsx'
import { ConfirmDialog, Sheet } from '../../../ui/dialog.tsx'
import { TextArea, TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Details, Time, Usd } from '../../../ui/values.tsx'
import { BudgetForm } from './budget-fields.tsx'
import { BudgetAction, Forecast, LEVEL_NAMES, limitText, Resets, UsedOf } from './budget-words.tsx'
import { draftOf, missingOfRaise, NEW_RAISE, raiseBody, raiseProblem, termsOfDraft } from './draft.ts'
import { type Budget, useBudget, useBudgetActions } from './queries.ts'

interface BudgetSheetProps {
  /** Undefined: closed. */
  readonly id: string | undefined
  readonly onClose: () => void
}

export function BudgetSheet({ id, onClose }: BudgetSheetProps) {
  return (
    <Sheet
      open={id !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title="Budget"
    >
      {id !== undefined && <Found id={id} onClose={onClose} />}
    </Sheet>
  )
}

function Found({ id, onClose }: Pick<BudgetSheetProps, 'onClose'> & { readonly id: string }) {
  return (
    <Loaded query={useBudget(id)} what="this budget">
      {(budget) => <Content budget={budget} onClose={onClose} />}
    </Loaded>
  )
}

type PartProps = Pick<BudgetSheetProps, 'onClose'> & { readonly budget: Budget }

function Content({ budget, onClose }: PartProps) {
  const canChange = useCan('billing')
  return (
    <div className="flex flex-col gap-6">
      <BudgetFacts budget={budget} />
      <Raises budget={budget} canEnd={canChange} />
      {canChange && (
        <>
          <NewRaise budget={budget} />
          <Editing budget={budget} onClose={onClose} />
          <Removal budget={budget} onClose={onClose} />
        </>
      )}
    </div>
  )
}

function BudgetFacts({ budget }: Pick<PartProps, 'budget'>) {
  const { nameOf } = useAccountNames()
  const { level, subject } = budget
  const of =
    level === 'account' ? 'The account' : `${LEVEL_NAMES[level]} ${level === 'tag' ? subject : nameOf(subject)}`
  return (
    <Details
      items={[
        { label: 'Limits', value: of },
        { label: 'Limit', value: limitText(budget) },
        { label: 'Used', value: <UsedOf budget={budget} /> },
        { label: 'Left', value: <Usd value={budget.remaining_usd} /> },
        { label: 'When it is spent', value: <BudgetAction action={budget.action} /> },
        { label: 'Window', value: <Window budget={budget} /> },
        { label: 'Resets', value: <Resets budget={budget} /> },
        { label: 'Spent at this pace', value: <Forecast budget={budget} /> },
        { label: 'Id', value: <CopyableId id={budget.id} /> },
      ]}
    />
  )
}

function Window({ budget: { window_start: start, timezone } }: Pick<PartProps, 'budget'>) {
  return (
    <>
      Since <Time iso={start} />
      <span className="text-soft"> · {timezone}</span>
    </>
  )
}

function Raises({ budget, canEnd }: Pick<PartProps, 'budget'> & { readonly canEnd: boolean }) {
  const { endRaise } = useBudgetActions()
  const [ending, setEnding] = useState<Budget['raises'][number]>()
  if (budget.raises.length === 0) return null
  return (
    <section aria-labelledby="raises" className="border-t border-line pt-5">
      <h3 id="raises" className="mb-2 text-lg font-semibold text-ink">
        Raises in force
      </h3>
      <ul className="flex flex-col gap-2">
        {budget.raises.map((raise) => (
          <li key={raise.id} className="flex items-start gap-3 rounded-lg border border-line bg-sunken px-3 py-2">
            <div className="min-w-0 flex-1 break-words">
              <p className="text-ink">
                <Usd value={raise.usd} /> more, until <Time iso={raise.ends_at} />
              </p>
              <p className="text-sm text-soft">{raise.reason}</p>
            </div>
            {canEnd && (
              <Button size="sm" icon={CircleStop} onClick={() => setEnding(raise)}>
                End
              </Button>
            )}
          </li>
        ))}
      </ul>
      <ConfirmDialog
        open={ending !== undefined}
        onOpenChange={(open) => {
          if (!open) setEnding(undefined)
        }}
        title={`End the raise of ${formatExactUsd(ending?.usd ?? 0)}?`}
        confirmLabel="End raise"
        danger
        onConfirm={async () => {
          if (ending === undefined) return
          await endRaise(budget.id, ending.id)
          toast('Raise ended')
        }}
      >
        <p>The limit is {limitText(budget)} again, for the next request. What was admitted is not affected.</p>
      </ConfirmDialog>
    </section>
  )
}

function NewRaise({ budget }: Pick<PartProps, 'budget'>) {
  const { raise } = useBudgetActions()
  const now = useNow()
  const [draft, setDraft] = useState(NEW_RAISE)
  const [isOpen, setOpen] = useState(false)
  if (!isOpen) {
    return (
      <div>
        <Button icon={TrendingUp} onClick={() => setOpen(true)}>
          Raise for a time
        </Button>
      </div>
    )
  }
  const close = () => {
    setDraft(NEW_RAISE)
    setOpen(false)
  }
  return (
    <section aria-labelledby="new-raise" className="border-t border-line pt-5">
      <h3 id="new-raise" className="mb-3 text-lg font-semibold text-ink">
        Raise for a time
      </h3>
      <Form
        submitLabel="Raise"
        missing={missingOfRaise(draft, now)}
        onCancel={close}
        onSubmit={async () => {
          await raise(budget.id, raiseBody(draft))
          toast('Budget raised')
          close()
        }}
      >
        <div className="grid gap-5 sm:grid-cols-2">
          <TextField
            label="Amount"
            name="usd"
            description="Added to the limit."
            prefix="$"
            inputMode="decimal"
            autoComplete="off"
            value={draft.usd}
            onChange={(usd) => setDraft({ ...draft, usd })}
            error={draft.usd.trim() === '' ? undefined : raiseProblem(draft)}
            required
            autoFocus
          />
          <TextField
            label="Until"
            name="ends_at"
            type="datetime-local"
            description="Your local time."
            value={draft.ends}
            onChange={(ends) => setDraft({ ...draft, ends })}
            required
          />
        </div>
        <TextArea
          label="Reason"
          name="reason"
          description="The audit log keeps it."
          rows={2}
          maxLength={500}
          value={draft.reason}
          onChange={(reason) => setDraft({ ...draft, reason })}
          required
        />
      </Form>
    </section>
  )
}

function Editing({ budget, onClose }: PartProps) {
  const { change } = useBudgetActions()
  return (
    <section aria-labelledby="edit-budget" className="border-t border-line pt-5">
      <h3 id="edit-budget" className="mb-1 text-lg font-semibold text-ink">
        Edit
      </h3>
      <p className="mb-4 text-sm text-soft">
        Another window, time zone or start makes it a new budget, which counts from now on.
      </p>
      <BudgetForm
        key={budget.id}
        initial={draftOf(budget)}
        isFixed
        submitLabel="Save changes"
        onCancel={onClose}
        onSubmit={async (draft) => {
          await change(budget, termsOfDraft(draft, budget))
          toast('Budget saved')
          onClose()
        }}
      />
    </section>
  )
}

function Removal({ budget, onClose }: PartProps) {
  const { remove } = useBudgetActions()
  const [isAsking, setAsking] = useState(false)
  return (
    <div className="flex items-center justify-between gap-4 border-t border-line pt-5">
      <p className="text-soft">Without it, only the other budgets limit these requests.</p>
      <Button icon={Trash2} onClick={() => setAsking(true)}>
        Remove
      </Button>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Remove the budget of ${limitText(budget)}?`}
        confirmLabel="Remove budget"
        danger
        onConfirm={async () => {
          await remove(budget)
          toast('Budget removed')
          onClose()
        }}
      >
        <p>It stops limiting with the next request. What was spent stays in usage.</p>
      </ConfirmDialog>
    </div>
  )
}
