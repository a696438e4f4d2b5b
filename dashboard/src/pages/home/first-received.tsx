import { CircleCheck } from 'lucide-react'
import { useEffect } from 'react'
import { formatUsd, plural } from '../../lib/format.ts'
import { announce } from '../../ui/announcer.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { type Completion, SIMULATOR } from './queries.ts'

/** What was waited for. */
export function FirstReceived({ completion }: { readonly completion: Completion }) {
  const text = receivedText(completion)
  useEffect(() => announce(text), [text])
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-xl border border-line bg-good-soft px-4 py-3">
      <CircleCheck aria-hidden className="size-5 shrink-0 text-good" />
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium text-ink tabular-nums">{text}</p>
        {completion.model === SIMULATOR && (
          <p className="text-sm text-soft">
            The built-in simulator answered it, at a made-up price. No provider was called.
          </p>
        )}
      </div>
      <LinkButton to="/requests" search={{ request: completion.id }} size="sm">
        See the request
      </LinkButton>
    </div>
  )
}

function receivedText({
  status,
  prompt_tokens: prompt,
  completion_tokens: generated,
  cost_usd: cost,
}: Completion): string {
  const text = `First request received: ${plural(prompt + generated, 'token')}, ${formatUsd(cost)}`
  return status === 'failed' ? `${text}. It failed` : text
}
