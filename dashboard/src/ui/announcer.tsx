/** What is told without being asked for: to screen readers, and in notes that go away by themselves. */
import { Toast } from '@base-ui/react/toast'
import { CircleAlert, CircleCheck, Info, type LucideIcon, X } from 'lucide-react'
import { useSyncExternalStore } from 'react'

export type ToastTone = 'good' | 'bad' | 'info'

export interface ToastOptions {
  readonly tone?: ToastTone
  /** Takes back what was done, while the note is there. */
  readonly undo?: () => void
}

const UNDO_MS = 10_000
const PLAIN_MS = 5_000

const manager = Toast.createToastManager()
const listeners = new Set<() => void>()
let spoken = ''

/** Says it to screen readers, politely; nothing is seen. */
export function announce(text: string): void {
  // (a region that does not change is not read again, and a space that cannot be heard is a change)
  spoken = text === spoken ? `${text}\u00a0` : text
  for (const notify of listeners) notify()
}

/** A short note in the corner, read out as well. What went wrong stays longer and is read at once. */
export function toast(text: string, { tone = 'good', undo }: ToastOptions = {}): void {
  const id = manager.add({
    title: text,
    type: tone,
    priority: tone === 'bad' ? 'high' : 'low',
    timeout: undo === undefined && tone !== 'bad' ? PLAIN_MS : UNDO_MS,
    ...(undo !== undefined && {
      actionProps: {
        children: 'Undo',
        onClick: () => {
          manager.close(id)
          undo()
        },
      },
    }),
  })
}

/** Stands once in the application; `announce` and `toast` speak through it. */
export function Announcer() {
  const text = useSyncExternalStore(subscribe, () => spoken)
  return (
    <>
      <div role="status" aria-live="polite" className="sr-only">
        {text}
      </div>
      <Toast.Provider toastManager={manager}>
        <Toast.Portal>
          <Toast.Viewport className="fixed right-4 bottom-4 z-70 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2">
            <Toasts />
          </Toast.Viewport>
        </Toast.Portal>
      </Toast.Provider>
    </>
  )
}

const ICONS: Readonly<Record<string, readonly [LucideIcon, string]>> = {
  good: [CircleCheck, 'text-good'],
  bad: [CircleAlert, 'text-bad'],
  info: [Info, 'text-info'],
}

function Toasts() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((each) => (
    <Toast.Root
      key={each.id}
      toast={each}
      className="animate-appear rounded-xl border border-line bg-surface shadow-popup [animation-delay:0s]"
    >
      <Toast.Content className="flex items-center gap-2.5 py-2 pr-2 pl-3.5">
        <ToastIcon tone={each.type} />
        <Toast.Title className="min-w-0 flex-1 text-base font-normal text-ink" />
        {each.actionProps !== undefined && (
          <Toast.Action className="h-7 shrink-0 rounded-lg px-2.5 text-sm font-medium text-accent hover:bg-hover" />
        )}
        <Toast.Close
          aria-label="Dismiss"
          className="flex size-7 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-hover"
        >
          <X aria-hidden className="size-4" />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

function ToastIcon({ tone = 'info' }: { readonly tone?: string | undefined }) {
  const [Icon, color] = ICONS[tone] ?? [Info, 'text-info']
  return <Icon aria-hidden className={`size-4 shrink-0 ${color}`} />
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify)
  return () => listeners.delete(notify)
}
