/** What stands above the page until it is dealt with. Where the focus was, it returns to. */
import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type FormEvent, type ReactNode, useCallback, useInsertionEffect, useRef, useState } from 'react'
import { type ApiProblem, problemOf } from '../api/problem.ts'
import { Button } from './button.tsx'
import { classNames } from './class-names.ts'
import { TextField } from './form/field.tsx'
import { ProblemSummary } from './notice.tsx'

export interface DialogProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly title: string
  readonly description?: ReactNode
  readonly children?: ReactNode
  /** The buttons, the main one last. */
  readonly footer?: ReactNode
  readonly size?: 'sm' | 'md' | 'lg'
  /** Only by a button, not by Escape or a press beside it: what it shows is not shown again. */
  readonly persistent?: boolean
}

const WIDTHS = { sm: 'max-w-md', md: 'max-w-xl', lg: 'max-w-3xl' } as const
const SHEET_WIDTHS = { sm: 'md:w-[26rem]', md: 'md:w-[36rem]', lg: 'md:w-[52rem]' } as const

export function Dialog({ size = 'md', ...props }: DialogProps) {
  const finalFocus = useReturnFocus(props.open)
  return (
    <Overlay {...props} place="fixed inset-0 flex items-end justify-center sm:items-center sm:p-6">
      <Base.Popup
        finalFocus={finalFocus}
        initialFocus={initialFocus}
        className={classNames(
          'flex max-h-dvh w-full animate-appear flex-col rounded-t-xl border border-line bg-surface shadow-popup [animation-delay:0s] sm:max-h-[calc(100dvh-3rem)] sm:rounded-xl',
          WIDTHS[size],
        )}
      >
        <Content {...props} />
      </Base.Popup>
    </Overlay>
  )
}

/** From the right; as wide as the window below `md`. */
export function Sheet({ size = 'md', ...props }: DialogProps) {
  const finalFocus = useReturnFocus(props.open)
  return (
    <Overlay {...props} place="fixed inset-0 flex justify-end">
      <Base.Popup
        finalFocus={finalFocus}
        initialFocus={initialFocus}
        className={classNames(
          'flex h-full w-full animate-appear flex-col border-l border-line bg-surface shadow-popup [animation-delay:0s]',
          SHEET_WIDTHS[size],
        )}
      >
        <Content {...props} />
      </Base.Popup>
    </Overlay>
  )
}

interface OverlayProps extends Pick<DialogProps, 'open' | 'onOpenChange' | 'persistent'> {
  readonly place: string
  readonly children: ReactNode
}

function Overlay({ open, onOpenChange, persistent = false, place, children }: OverlayProps) {
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={persistent}
      onOpenChange={(next, details) => {
        if (!next && persistent && details.reason === 'escape-key') return
        onOpenChange(next)
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 animate-appear bg-scrim [animation-delay:0s]" />
        <Base.Viewport className={classNames('z-50', place)}>{children}</Base.Viewport>
      </Base.Portal>
    </Base.Root>
  )
}

type ContentProps = Pick<DialogProps, 'title' | 'description' | 'children' | 'footer' | 'persistent'>

function Content({ title, description, children, footer, persistent = false }: ContentProps) {
  return (
    <>
      <header className="flex items-start gap-4 border-b border-line px-5 py-4">
        <div className="min-w-0 flex-1">
          <Base.Title className="text-lg font-semibold break-words text-ink">{title}</Base.Title>
          {description !== undefined && (
            <Base.Description render={<div />} className="mt-1 text-soft">
              {description}
            </Base.Description>
          )}
        </div>
        {!persistent && <CloseButton />}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long text in a dialog is scrolled by keyboard */}
      <div data-dialog-body="" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto px-5 py-4 -outline-offset-2">
        {children}
      </div>
      {footer !== undefined && (
        <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</footer>
      )}
    </>
  )
}

function CloseButton() {
  return (
    <Base.Close
      aria-label="Close"
      className="-mt-1 -mr-2 flex size-8 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-hover hover:text-ink"
    >
      <X aria-hidden className="size-4" />
    </Base.Close>
  )
}

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

/** Within the popup, so that each opening resets its state. */
function Confirmation({ title, children, confirmLabel, danger = false, typeToConfirm, ...rest }: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const { pending, problem, run } = useConfirm(rest)
  const missing =
    typeToConfirm === undefined || typed.trim() === typeToConfirm ? undefined : `Type ${typeToConfirm} first.`
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (missing === undefined) run()
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
        <Button type="submit" variant={danger ? 'danger' : 'primary'} pending={pending} unavailable={missing}>
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

const BODY = '[data-dialog-body]'
const FIELDS =
  'input:not([type="hidden"], :disabled), textarea:not(:disabled), select:not(:disabled), [role="combobox"]'

/** The first field of the newest dialog, or a field that has the focus already; without one, what Base UI chooses. */
function initialFocus(): HTMLElement | boolean {
  const body = [...document.querySelectorAll<HTMLElement>(BODY)].at(-1)
  if (body?.contains(document.activeElement) && document.activeElement !== body) return false
  return body?.querySelector<HTMLElement>(FIELDS) ?? true
}

/** What had the focus when the dialog opened, before a field in it took the focus by itself. */
function useReturnFocus(open: boolean): () => HTMLElement | boolean {
  const opener = useRef<Element>(null)
  useInsertionEffect(() => {
    if (open) opener.current = document.activeElement
  }, [open])
  return useCallback(() => {
    const { current } = opener
    // what was removed meanwhile, as an entry of a menu is, cannot take it
    return current instanceof HTMLElement && current.isConnected && current !== document.body ? current : true
  }, [])
}
