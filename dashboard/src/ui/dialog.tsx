/** What stands above the page until it is dealt with. Where the focus was, it returns to. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { classNames } from './class-names.ts'
import { initialFocus, useReturnFocus } from './dialog-focus.ts'

export { ConfirmDialog, type ConfirmDialogProps } from './confirm-dialog.tsx'

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
