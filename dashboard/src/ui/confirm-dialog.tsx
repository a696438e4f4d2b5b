import { AlertDialog } from '@base-ui/react/alert-dialog'
import { type FormEvent, type ReactNode, useState } from 'react'
import { type ApiProblem, problemOf } from '../api/problem.ts'
import { Button } from './button.tsx'
import { useReturnFocus } from './dialog-focus.ts'
import { TextField } from './field.tsx'
import { ProblemSummary } from './problem-summary.tsx'

export interface ConfirmDialogProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  /** Names the thing: "Revoke key ci-runner?" */
  readonly title: string
  /** The effect. */
  readonly children?: ReactNode
  /** What happens: "Revoke key". */
  readonly confirmLabel: string
  readonly danger?: boolean
  /** What has to be typed first, where it cannot be undone. */
  readonly typeToConfirm?: string
  /** The dialog closes when it is done, and says why when it fails. */
  readonly onConfirm: () => Promise<void>
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const finalFocus = useReturnFocus(props.open)
  return (
    <AlertDialog.Root open={props.open} onOpenChange={props.onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="fixed inset-0 z-40 animate-appear bg-scrim [animation-delay:0s]" />
        <AlertDialog.Viewport className="fixed inset-0 z-50 flex items-end justify-center sm:items-center sm:p-6">
          <AlertDialog.Popup
            finalFocus={finalFocus}
            className="max-h-dvh w-full max-w-md animate-appear overflow-y-auto rounded-t-xl border border-line bg-surface shadow-popup [animation-delay:0s] sm:rounded-xl"
          >
            <Confirmation {...props} />
          </AlertDialog.Popup>
        </AlertDialog.Viewport>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

/** Within the popup, so that each opening begins anew. */
function Confirmation({ title, children, confirmLabel, danger = false, typeToConfirm, ...rest }: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const { pending, problem, run } = useConfirm(rest)
  const ready = typeToConfirm === undefined || typed.trim() === typeToConfirm
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (ready) run()
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4 p-5">
      <AlertDialog.Title className="text-lg font-semibold break-words text-ink">{title}</AlertDialog.Title>
      {children !== undefined && (
        <AlertDialog.Description render={<div />} className="flex flex-col gap-2 break-words text-soft">
          {children}
        </AlertDialog.Description>
      )}
      {typeToConfirm !== undefined && (
        <TextField
          label={`Type ${typeToConfirm} to confirm`}
          value={typed}
          onChange={setTyped}
          autoComplete="off"
          required
        />
      )}
      {problem !== undefined && <ProblemSummary problem={problem} />}
      <div className="flex flex-wrap justify-end gap-2">
        <AlertDialog.Close render={<Button>Cancel</Button>} />
        <Button type="submit" variant={danger ? 'danger' : 'primary'} pending={pending} disabled={!ready}>
          {confirmLabel}
        </Button>
      </div>
    </form>
  )
}

function useConfirm({ onConfirm, onOpenChange }: Pick<ConfirmDialogProps, 'onConfirm' | 'onOpenChange'>) {
  const [pending, setPending] = useState(false)
  const [problem, setProblem] = useState<ApiProblem>()
  const run = () => {
    if (pending) return
    setPending(true)
    setProblem(undefined)
    onConfirm()
      .then(
        () => onOpenChange(false),
        (error: unknown) => setProblem(problemOf(error)),
      )
      .finally(() => setPending(false))
  }
  return { pending, problem, run }
}
