import { useId } from 'react'
import { focusMessage } from './message-focus.ts'

const EXAMPLES: readonly { readonly title: string; readonly prompt: string }[] = [
  {
    title: 'Explain',
    prompt: 'Explain to a new colleague what a rate limit is and how a program should react to one.',
  },
  {
    title: 'Extract',
    prompt:
      'List every date in this text as JSON, with what happened on it: "The contract was signed on 3 March 2026, took effect on 1 April and ends after two years."',
  },
  {
    title: 'Review',
    prompt:
      'Find the mistake in this function and mend it:\n\nfunction average(numbers) {\n  return numbers.reduce((a, b) => a + b) / numbers.size\n}',
  },
]

/** Of an empty conversation. */
export function Examples({ onPick }: { readonly onPick: (prompt: string) => void }) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-2 text-sm font-medium text-soft">
        Write a message below, or begin with an example
      </h2>
      <div className="grid gap-3 md:grid-cols-3">
        {EXAMPLES.map(({ title, prompt }) => (
          <button
            key={title}
            type="button"
            onClick={() => {
              onPick(prompt)
              focusMessage()
            }}
            className="flex min-w-0 flex-col gap-1 rounded-xl border border-line bg-surface p-3 text-left hover:border-strong hover:bg-hover"
          >
            <span className="font-medium text-ink">{title}</span>
            <span className="line-clamp-2 text-sm text-soft">{prompt}</span>
          </button>
        ))}
      </div>
    </section>
  )
}
