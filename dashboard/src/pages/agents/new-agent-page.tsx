/** A task for an agent. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { toast } from '../../ui/announcer.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Forbidden } from '../../ui/states.tsx'
import { createCommand } from './curl.ts'
import { type Draft, EMPTY, isReady, orderOf } from './draft.ts'
import { DraftFields } from './draft-fields.tsx'
import { agentModelsQuery, repositoriesQuery } from './queries.ts'
import { useOnceKey } from './use-once-key.ts'

const PARENT = { to: '/agents', label: 'Agents' }

export function NewAgentPage() {
  const mayWrite = useCan('agents:write')
  return (
    <Page title="New agent" parent={PARENT} description="It starts at once and works on a branch of its own.">
      {mayWrite ? <NewAgent /> : <Forbidden what="the making of agents" right="agents:write" />}
    </Page>
  )
}

function NewAgent() {
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const { data: models = [], isPending } = useQuery(agentModelsQuery)
  const { data: repositories = [] } = useQuery(repositoriesQuery)
  const { submit, isUnavailable } = useCreation(draft)
  const navigate = useNavigate()
  return (
    <div className="grid grid-cols-1 items-start gap-8 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <Form
        submitLabel="Start agent"
        onSubmit={submit}
        onCancel={() => void navigate({ to: '/agents' })}
        disabled={!isReady(draft)}
      >
        {isUnavailable && <Unavailable />}
        <DraftFields
          draft={draft}
          onChange={(change) => setDraft({ ...draft, ...change })}
          models={models}
          areModelsPending={isPending}
          repositories={repositories}
        />
      </Form>
      <Card className="flex flex-col gap-3 lg:sticky lg:top-20">
        <h2 className="font-medium text-ink">The same call</h2>
        <CodeBlock
          code={createCommand(location.origin, orderOf(draft), 2)}
          language="curl"
          label="The same call for a terminal"
          maxHeight="24rem"
        />
        <p className="text-sm text-soft">
          Its calls of the model are charged to this account like any others, with your rights and your limits.
        </p>
      </Card>
    </div>
  )
}

/** One agent, however often the button is pressed. */
function useCreation(draft: Draft) {
  const [isUnavailable, setUnavailable] = useState(false)
  const { keyFor } = useOnceKey()
  const client = useQueryClient()
  const navigate = useNavigate()
  const submit = async (): Promise<void> => {
    setUnavailable(false)
    const body = orderOf(draft)
    try {
      const agent = await take(
        api.POST('/v1/agents', { body, params: { header: { 'idempotency-key': keyFor(body) } } }),
      )
      void client.invalidateQueries({ queryKey: ['/v1/agents'] })
      toast('The agent is queued.')
      await navigate({ to: '/agents/$agentId', params: { agentId: agent.id } })
    } catch (error) {
      setUnavailable(problemOf(error).code === 'agents_unavailable')
      throw error
    }
  }
  return { submit, isUnavailable }
}

function Unavailable() {
  return (
    <div className="flex flex-col gap-2">
      <p className="text-soft">
        Whoever operates this gateway has to see to that first. This says what is missing, and tries again:
      </p>
      <CodeBlock code="turnpike doctor" language="Shell" label="Command that says what agents need" />
    </div>
  )
}
