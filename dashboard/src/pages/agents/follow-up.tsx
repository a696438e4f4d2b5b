import { useQueryClient } from '@tanstack/react-query'
import { SendHorizontal } from 'lucide-react'
import { type KeyboardEvent, type Ref, useImperativeHandle, useRef, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { type ApiProblem, problemOf } from '../../api/problem.ts'
import { announce } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { TextArea } from '../../ui/field.tsx'
import { ProblemSummary } from '../../ui/problem-summary.tsx'
import { MAX_PROMPT_LENGTH } from './draft.ts'
import { agentQuery, type LiveAgent } from './queries.ts'
import { useOnceKey } from './use-once-key.ts'
import { isEnded } from './work.ts'

export interface FollowUpProps {
  readonly agent: LiveAgent
  readonly ref: Ref<FollowUpBox>
}

/** What other parts of the page may do with the box. */
export interface FollowUpBox {
  /** Puts a message into it, after what is there, to be changed or sent as it is. */
  readonly add: (message: string) => void
}

/** More for the agent to do: at its next step while it works, in a further run when it has ended. */
export function FollowUp({ agent, ref }: FollowUpProps) {
  const mayWrite = useCan('agents:write')
  const [prompt, setPrompt] = useState('')
  const section = useRef<HTMLElement>(null)
  useImperativeHandle(ref, () => ({
    add: (message) => {
      setPrompt((before) => (before.trim() === '' ? message : `${before.trimEnd()}\n\n${message}`))
      section.current?.querySelector('textarea')?.focus()
    },
  }))
  // What was written while it was on its way stays.
  const { problem, pending, send } = useFollowUp(agent.id, (sent) => {
    setPrompt((now) => (now.trim() === sent ? '' : now))
  })
  if (!mayWrite) return null
  const submit = () => prompt.trim() !== '' && send(prompt.trim())
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    submit()
  }
  const ended = isEnded(agent.status)
  return (
    <section ref={section} aria-label="Follow-up" className="max-w-5xl border-t border-line pt-4" onKeyDown={sendByKey}>
      {problem !== undefined && (
        <div className="mb-3">
          <ProblemSummary problem={problem} />
        </div>
      )}
      <TextArea
        label="Follow-up"
        name="prompt"
        rows={3}
        maxLength={MAX_PROMPT_LENGTH}
        placeholder={ended ? 'What else is to be done?' : 'Tell it something while it works.'}
        description={
          ended
            ? 'Begins a further run, in the same conversation and on the same branch.'
            : 'It is working: your message is queued, and read before its next step.'
        }
        value={prompt}
        onChange={setPrompt}
      />
      <div className="mt-2 flex flex-wrap items-center justify-end gap-3">
        <span className="text-sm text-soft max-sm:hidden">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        <Button
          variant="primary"
          icon={SendHorizontal}
          pending={pending}
          disabled={prompt.trim() === ''}
          onClick={submit}
        >
          Send
        </Button>
      </div>
    </section>
  )
}

function useFollowUp(id: string, onTold: (prompt: string) => void) {
  const [pending, setPending] = useState(false)
  const [problem, setProblem] = useState<ApiProblem>()
  const client = useQueryClient()
  const { keyFor, forget } = useOnceKey()
  const post = async (body: { readonly prompt: string }): Promise<void> => {
    const params = { path: { id }, header: { 'idempotency-key': keyFor(body) } }
    const agent = await take(api.POST('/v1/agents/{id}/followup', { params, body }))
    forget()
    client.setQueryData(agentQuery(id).queryKey, agent)
    void client.invalidateQueries({ queryKey: ['/v1/agents', id, 'runs'] })
    announce('Sent to the agent')
    onTold(body.prompt)
  }
  const send = (prompt: string): void => {
    if (pending) return
    setPending(true)
    setProblem(undefined)
    post({ prompt })
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => setPending(false))
  }
  return { pending, problem, send }
}
