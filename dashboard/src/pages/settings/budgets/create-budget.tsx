import { useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { BudgetForm } from './budget-fields.tsx'
import { type BudgetDraft, subjectOf, termsOfDraft } from './draft.ts'
import { useBudgetActions } from './queries.ts'

interface CreateBudgetProps {
  readonly open: boolean
  readonly initial: BudgetDraft
  /** What it is of cannot be chosen. */
  readonly isFixed?: boolean
  readonly onClose: () => void
}

export function CreateBudget({ open, initial, isFixed = false, onClose }: CreateBudgetProps) {
  const { account } = useMe()
  const { add } = useBudgetActions()
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create a budget"
      description="It counts requests that are admitted from now on."
    >
      <BudgetForm
        initial={initial}
        isFixed={isFixed}
        submitLabel="Create budget"
        onCancel={onClose}
        onSubmit={async (draft) => {
          await add(subjectOf(draft, account.id), termsOfDraft(draft))
          toast('Budget created')
          onClose()
        }}
      />
    </Dialog>
  )
}
