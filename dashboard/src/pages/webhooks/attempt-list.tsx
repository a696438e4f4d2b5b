import { CircleCheck, CircleX } from 'lucide-react'
import { visibleText } from '../../lib/visible-text.ts'
import { Spinner } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Time } from '../../ui/values.tsx'
import { outcomeOf, reasonOf } from './attempt-words.ts'
import type { Attempt, Delivery } from './queries.ts'

/** The newest first, with what is to come above them. */
export function AttemptList({ delivery }: { readonly delivery: Delivery }) {
  const { attempts, status, next_attempt_at: next } = delivery
  if (attempts.length === 0 && status !== 'pending') return <p className="text-soft">It was not tried.</p>
  return (
    <ol aria-label="Attempts, the newest first" className="flex flex-col gap-4">
      {status === 'pending' && (
        <li className="flex items-center gap-2 text-soft">
          <Spinner />
          {attempts.length === 0 ? (
            'The first attempt is under way.'
          ) : (
            <span>
              The next attempt is <Time iso={next} relative />.
            </span>
          )}
        </li>
      )}
      {attempts.toReversed().map((attempt) => (
        <AttemptItem key={attempt.number} attempt={attempt} />
      ))}
    </ol>
  )
}

function AttemptItem({ attempt }: { readonly attempt: Attempt }) {
  const { number, at, error, response_body: answer } = attempt
  const Icon = error === null ? CircleCheck : CircleX
  return (
    <li className="flex items-start gap-2">
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${error === null ? 'text-good' : 'text-bad'}`} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-3">
          <span className="font-medium text-ink tabular-nums">
            {number}. {error === null ? 'Delivered' : 'Failed'}: {outcomeOf(attempt)}
          </span>
          <span className="text-sm text-soft">
            <Time iso={at} />
          </span>
        </div>
        {error !== null && <p className="break-words text-soft">{reasonOf(error)}</p>}
        {answer !== null && answer !== '' && (
          <CodeBlock
            code={visibleText(answer)}
            language="Answer, its first 4 KiB"
            label={`Answer to attempt ${number}`}
            maxHeight="14rem"
            className="mt-2"
          />
        )}
      </div>
    </li>
  )
}
