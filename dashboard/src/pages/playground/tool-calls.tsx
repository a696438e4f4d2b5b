import { Wrench } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { TextArea } from '../../ui/form/field.tsx'
import { isSendKey } from './composer-keys.ts'
import type { ToolAnswer } from './conversation.ts'
import type { Run, ToolCall } from './run.ts'

export interface ToolCallsProps {
  readonly run: Run
  /** What was answered already. */
  readonly answers: readonly ToolAnswer[]
  /** Answers can still be given. */
  readonly isOpen: boolean
  readonly onAnswer: (answers: readonly ToolAnswer[]) => void
}

export function ToolCalls({ run: { calls }, answers, isOpen, onAnswer }: ToolCallsProps) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const textOf = (id: string): string => texts[id] ?? ''
  const isComplete = calls.every(({ id }) => textOf(id).trim() !== '')
  const send = () => {
    if (isOpen && isComplete) onAnswer(calls.map(({ id }) => ({ callId: id, text: textOf(id) })))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const listen = (event: KeyboardEvent) => {
    if (!isSendKey(event)) return
    event.preventDefault()
    send()
  }
  return (
    <form onSubmit={submit} onKeyDown={listen} className="flex min-w-0 flex-col gap-3">
      {calls.map((call) => (
        <ToolCallCard
          key={call.id}
          call={call}
          answer={answers.find(({ callId }) => callId === call.id)?.text}
          {...(isOpen && {
            draft: textOf(call.id),
            onDraft: (text: string) => setTexts((before) => ({ ...before, [call.id]: text })),
          })}
        />
      ))}
      {isOpen && (
        <Button
          type="submit"
          size="sm"
          variant="primary"
          unavailable={isComplete ? undefined : 'Answer every call first.'}
          className="self-start"
        >
          {calls.length === 1 ? 'Send tool answer' : 'Send tool answers'}
        </Button>
      )}
    </form>
  )
}

interface ToolCallCardProps {
  readonly call: ToolCall
  readonly answer: string | undefined
  readonly draft?: string
  readonly onDraft?: (text: string) => void
}

function ToolCallCard({ call, answer, draft, onDraft }: ToolCallCardProps) {
  return (
    <div className="flex min-w-0 flex-col gap-2 rounded-lg border border-line p-3">
      <p className="flex min-w-0 items-center gap-2">
        <Wrench aria-hidden className="size-4 shrink-0 text-soft" />
        <span className="sr-only">Tool call</span>
        <span className="min-w-0 font-mono text-sm font-medium break-all text-ink">{call.name}</span>
      </p>
      <CodeBlock
        code={prettyJson(call.arguments)}
        language="Arguments"
        label={`Arguments of ${call.name}`}
        maxHeight="14rem"
      />
      {answer !== undefined && (
        <CodeBlock code={answer} language="Answer" label={`Answer of ${call.name}`} maxHeight="14rem" />
      )}
      {onDraft !== undefined && (
        <TextArea
          label="Answer the tool"
          description={`The result of ${call.name}.`}
          value={draft ?? ''}
          onChange={onDraft}
          rows={2}
          mono
        />
      )}
    </div>
  )
}

/** As it is, where it is not JSON, as when it was cut off. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
