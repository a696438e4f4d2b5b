import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { CircleStop, GitPullRequest, SendHorizontal, Trash2 } from 'lucide-react'
import { type KeyboardEvent, type Ref, useImperativeHandle, useRef, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { type ApiProblem, problemOf } from '../../api/problem.ts'
import { visibleName } from '../../lib/visible-text.ts'
import { announce, toast } from '../../ui/announcer.tsx'
import { ExternalLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { TextArea } from '../../ui/form/field.tsx'
import { ProblemSummary } from '../../ui/notice.tsx'
import { MAX_PROMPT_LENGTH, useIdempotencyKey } from './draft.ts'
import { agentQuery, type LiveAgent } from './queries.ts'
import { isEnded } from './work.ts'

export interface AgentActionsProps {
  readonly agent: LiveAgent
}

export function AgentActions(props: AgentActionsProps) {
  const mayWrite = useCan('agents:write')
  const { pull_request_url: url, status } = props.agent
  return (
    <>
      {url !== null && <PullRequestLink url={url} />}
      {url === null && mayWrite && <OpenPullRequest {...props} />}
      {mayWrite && (isEnded(status) ? <DeleteAgent {...props} /> : <CancelAgent {...props} />)}
    </>
  )
}

function PullRequestLink({ url }: { readonly url: string }) {
  return (
    <ExternalLink href={url} className="inline-flex items-center gap-1.5 font-medium">
      <GitPullRequest aria-hidden className="size-4" />
      Pull request
    </ExternalLink>
  )
}

const HINDRANCES: Readonly<Record<NonNullable<LiveAgent['pull_request_disabled_reason']>, string>> = {
  unsupported_host: 'The repository is not known to be on GitHub or GitLab; the operator sets agents.git_provider.',
  no_credential: 'The operator has configured no credential for this repository in agents.git_credentials.',
  not_ended: 'The agent has not ended.',
  not_pushed: 'No branch was pushed.',
}

function OpenPullRequest({ agent }: AgentActionsProps) {
  const client = useQueryClient()
  const open = useMutation({
    mutationFn: () => {
      const path = { id: agent.id }
      return take(api.POST('/v1/agents/{id}/pull-request', { params: { path }, body: {} }))
    },
    onSuccess: ({ number }) => {
      toast(`Pull request ${number} is open.`)
      return client.invalidateQueries({ queryKey: ['/v1/agents', agent.id] })
    },
    onError: (error) => toast(problemOf(error).message, { tone: 'bad' }),
  })
  const reason = agent.pull_request_disabled_reason ?? (isEnded(agent.status) ? null : 'not_ended')
  return (
    <Button
      icon={GitPullRequest}
      pending={open.isPending}
      unavailable={reason === null ? undefined : HINDRANCES[reason]}
      onClick={() => open.mutate()}
    >
      Open pull request
    </Button>
  )
}

function CancelAgent({ agent }: AgentActionsProps) {
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const cancel = async (): Promise<void> => {
    await take(api.POST('/v1/agents/{id}/cancel', { params: { path: { id: agent.id } } }))
    toast(agent.status === 'queued' ? 'The agent is cancelled.' : 'The agent stops within 10 seconds.')
    void client.invalidateQueries({ queryKey: ['/v1/agents'] })
  }
  return (
    <>
      <Button icon={CircleStop} onClick={() => setOpen(true)}>
        Cancel run
      </Button>
      <ConfirmDialog
        open={isOpen}
        onOpenChange={setOpen}
        title={`Cancel ${visibleName(agent.name)}?`}
        confirmLabel="Cancel run"
        danger
        onConfirm={cancel}
      >
        <p>The run stops within 10 seconds. Its work so far is kept but not pushed, and its usage is charged.</p>
      </ConfirmDialog>
    </>
  )
}

function DeleteAgent({ agent }: AgentActionsProps) {
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = async (): Promise<void> => {
    await take(api.DELETE('/v1/agents/{id}', { params: { path: { id: agent.id } } }))
    toast('The agent is deleted.')
    await navigate({ to: '/agents' })
    client.removeQueries({ queryKey: ['/v1/agents', agent.id] })
    void client.invalidateQueries({ queryKey: ['/v1/agents'] })
  }
  return (
    <>
      <Button icon={Trash2} onClick={() => setOpen(true)}>
        Delete
      </Button>
      <ConfirmDialog
        open={isOpen}
        onOpenChange={setOpen}
        title={`Delete ${visibleName(agent.name)}?`}
        confirmLabel="Delete agent"
        danger
        typeToConfirm="delete"
        onConfirm={remove}
      >
        <p>
          This deletes its transcript, diff and runs permanently. Its charges stay in your usage, and pushed commits
          stay in the repository.
        </p>
      </ConfirmDialog>
    </>
  )
}

interface FollowUpProps {
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
        placeholder={ended ? 'What should the agent do next?' : 'Send a message while the agent works.'}
        description={
          ended
            ? 'Starts another run in the same conversation, on the same branch.'
            : 'The agent is running: it reads your message before its next step.'
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
          unavailable={prompt.trim() === '' ? 'Write a message first.' : undefined}
          onClick={submit}
        >
          Send
        </Button>
      </div>
    </section>
  )
}

function useFollowUp(id: string, onSent: (prompt: string) => void) {
  const [pending, setPending] = useState(false)
  const [problem, setProblem] = useState<ApiProblem>()
  const client = useQueryClient()
  const { keyFor, forget } = useIdempotencyKey()
  const post = async (body: { readonly prompt: string }): Promise<void> => {
    const params = { path: { id }, header: { 'idempotency-key': keyFor(body) } }
    const agent = await take(api.POST('/v1/agents/{id}/followup', { params, body }))
    forget()
    client.setQueryData(agentQuery(id).queryKey, agent)
    void client.invalidateQueries({ queryKey: ['/v1/agents', id, 'runs'] })
    announce('Sent to the agent')
    onSent(body.prompt)
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
