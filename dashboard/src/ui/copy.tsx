import { Check, Copy } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { announce, toast } from './announcer.tsx'
import { Button, type ButtonSize, type ButtonVariant } from './button.tsx'
import { classNames } from './class-names.ts'
import { Tooltip } from './tooltip.tsx'

const SHOWN_MS = 2_000

export interface CopyButtonProps {
  readonly text: string
  /** What the button says: "Copy", "Copy key". */
  readonly label: string
  readonly variant?: ButtonVariant
  readonly size?: ButtonSize
  readonly className?: string
}

/** Says "Copied" in its own place for a moment. */
export function CopyButton({ text, label, variant = 'secondary', size = 'sm', className }: CopyButtonProps) {
  const { copied, copy } = useCopy(text)
  return (
    <Button variant={variant} size={size} icon={copied ? Check : Copy} onClick={copy} className={className}>
      <span className="grid text-left">
        <span className={classNames('col-start-1 row-start-1', copied && 'invisible')}>{label}</span>
        <span className={classNames('col-start-1 row-start-1', !copied && 'invisible')}>Copied</span>
      </span>
    </Button>
  )
}

/** An id, in full, that a press copies. */
export function CopyableId({ id, className }: { readonly id: string; readonly className?: string }) {
  return (
    <CopyableText text={id} label={`Copy ${id}`} className={className}>
      <span className="font-mono text-sm break-all">{id}</span>
    </CopyableText>
  )
}

export interface CopyableTextProps {
  readonly text: string
  /** What the button is called; "Copy" and the text unless given. */
  readonly label?: string
  /** What is seen instead of the text itself. */
  readonly children?: ReactNode
  readonly className?: string | undefined
}

/** Text with a small button that copies it. */
export function CopyableText({ text, label = `Copy ${text}`, children, className }: CopyableTextProps) {
  const { copied, copy } = useCopy(text)
  const Icon = copied ? Check : Copy
  return (
    <span className={classNames('inline-flex max-w-full items-center gap-1', className)}>
      <span className="min-w-0 break-words">{children ?? text}</span>
      <Tooltip label={copied ? 'Copied' : 'Copy'}>
        <button
          type="button"
          aria-label={label}
          onClick={copy}
          className="inline-flex h-6 min-w-6 shrink-0 items-center justify-center gap-1 rounded-md px-1 text-xs text-faint hover:bg-hover hover:text-ink"
        >
          <Icon aria-hidden className={classNames('size-3.5', copied && 'text-good')} />
          {copied && <span className="text-good">Copied</span>}
        </button>
      </Tooltip>
    </span>
  )
}

function useCopy(text: string): { readonly copied: boolean; readonly copy: () => void } {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return undefined
    const timer = setTimeout(() => setCopied(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () => {
    copyText(text).then(
      () => {
        setCopied(true)
        announce('Copied')
      },
      () => toast('The browser blocked copying. Select the text instead.', { tone: 'bad' }),
    )
  }
  return { copied, copy }
}

/** Puts text on the clipboard, also where the page is not from a secure address. Rejects when the browser refuses. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true
  area.style.position = 'fixed'
  area.style.opacity = '0'
  // inside an open dialog, nothing outside of it can be focused
  const host = document.activeElement?.closest('[role="dialog"],[role="alertdialog"]') ?? document.body
  const focused = document.activeElement
  host.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  if (!copied) throw new Error('The browser blocks copying.')
}
