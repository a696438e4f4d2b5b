import { CircleAlert, RotateCcw } from 'lucide-react'
import { visibleText } from '../../lib/visible-text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import type { RunFailure } from './agent-events.ts'
import { helpFor } from './failures.ts'

export interface FailureNoticeProps {
  readonly error: RunFailure
  /** Puts what it was asked into the box for follow-ups. */
  readonly onRetry: (() => void) | undefined
}

/** Why the last run failed, and what can be done. */
export function FailureNotice({ error: { code, message }, onRetry }: FailureNoticeProps) {
  const { title, help, link } = helpFor(code)
  return (
    <section
      aria-label="Why it failed"
      className="flex flex-wrap items-start gap-x-3 gap-y-2 rounded-xl border border-line bg-bad-soft px-4 py-3"
    >
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium text-ink">
          {title} <code className="ml-1 font-mono text-xs font-normal text-soft">{code}</code>
        </p>
        {message !== '' && (
          <p dir="auto" className="mt-0.5 break-words whitespace-pre-wrap text-ink">
            {visibleText(message)}
          </p>
        )}
        {help !== undefined && <p className="mt-0.5 text-soft">{help}</p>}
      </div>
      {onRetry && (
        <Button size="sm" icon={RotateCcw} onClick={onRetry}>
          Try again
        </Button>
      )}
      {link !== undefined && (
        <LinkButton to={link.to} size="sm">
          {link.label}
        </LinkButton>
      )}
    </section>
  )
}
