/** One request: what became of it, which providers were called, what it cost and why. */
import { useQuery } from '@tanstack/react-query'
import { SquareTerminal } from 'lucide-react'
import type { ReactNode } from 'react'
import { askerTarget } from '../../api/find-id.ts'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { apiCurl } from '../../lib/api-samples.ts'
import { chatSamples } from '../../lib/code-samples.ts'
import { formatCount } from '../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { Button, LinkButton } from '../../ui/button.tsx'
import { CopyableId, CopyButton } from '../../ui/copy.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Stat } from '../../ui/page.tsx'
import { Empty, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { CompletionStatus } from '../../ui/status.tsx'
import { Dash, Details, type DetailsItem, Ms, Time, Tokens, Usd } from '../../ui/values.tsx'
import { useOpenRequest, useRequestsChange } from './address.ts'
import { ContentSection } from './content-section.tsx'
import { CostSection } from './cost-section.tsx'
import { completionQuery, type WholeCompletion } from './queries.ts'
import { Waterfall } from './waterfall.tsx'
import { API_TEXTS, askerName, finishText, STATUS_TEXTS } from './words.ts'

export function RequestSheet() {
  const id = useOpenRequest()
  const change = useRequestsChange()
  const close = () => change({ request: undefined })
  return (
    <Sheet
      open={id !== undefined}
      onOpenChange={close}
      title="Request"
      size="lg"
      description={<span className="font-mono text-sm break-all">{id}</span>}
    >
      {id !== undefined && <Content id={id} onClose={close} />}
    </Sheet>
  )
}

function Content({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery(completionQuery(id))
  if (query.data === undefined && problemOf(query.error).status === 404) {
    return (
      <Empty title="No request has this ID" action={<Button onClick={onClose}>Show all requests</Button>}>
        It may belong to another account, be past its retention, or not have reached a provider.
      </Empty>
    )
  }
  return (
    <Loaded query={query} what="this request" skeleton={<SheetSkeleton />}>
      {(completion) => <RequestContent completion={completion} />}
    </Loaded>
  )
}

function RequestContent({ completion }: { readonly completion: WholeCompletion }) {
  const { status, attempts } = completion
  return (
    <div className="flex flex-col gap-6">
      <div>
        <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-1 text-soft">
          <CompletionStatus status={status} />
          <span className="font-medium break-words text-ink">{completion.model}</span>
          <Time iso={completion.created_at} />
          <p className="basis-full">{STATUS_TEXTS[status]}</p>
        </div>
        <Numbers completion={completion} />
      </div>
      <Actions completion={completion} />
      <Part title={attempts === 1 ? '1 call to a provider' : `${formatCount(attempts)} calls to providers`}>
        <Waterfall completion={completion} />
      </Part>
      <Part title="Cost">
        <CostSection completion={completion} />
      </Part>
      <ContentSection key={completion.id} id={completion.id} model={completion.model} />
      <Part title="Details">
        <Details items={detailsOf(completion)} />
      </Part>
    </div>
  )
}

function Numbers({ completion }: { readonly completion: WholeCompletion }) {
  const { cost_usd: cost, prompt_tokens: prompt, completion_tokens: output, first_byte_ms: first } = completion
  return (
    <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
      <Stat label="Cost" value={<Usd value={cost} exact />} />
      <Stat
        label="Tokens"
        value={formatCount(prompt + output)}
        hint={`${formatCount(prompt)} in, ${formatCount(output)} out`}
      />
      <Stat label="First token" value={<Ms value={first} />} />
      <Stat label="Duration" value={<Ms value={completion.duration_ms} />} />
    </div>
  )
}

function Actions({ completion: { model, stream, api } }: { readonly completion: WholeCompletion }) {
  const canChat = useCan('chat') && CHATS.has(api)
  return (
    <div>
      <div className="flex flex-wrap gap-2">
        {canChat && (
          <LinkButton size="sm" icon={SquareTerminal} to="/playground" search={{ models: model }}>
            Open in Playground
          </LinkButton>
        )}
        <CopyButton text={curlOf({ api, model, stream })} label="Copy as curl" />
      </div>
      <p className="mt-1.5 text-sm text-soft">The command has the model and a placeholder message.</p>
    </div>
  )
}

/** APIs of models that the Playground calls. */
const CHATS: ReadonlySet<string> = new Set(['chat_completions', 'messages', 'responses', 'completions'])

/** A request by the same API. */
function curlOf({ api, model, stream }: Pick<WholeCompletion, 'api' | 'model' | 'stream'>): string {
  const { origin } = location
  if (api !== 'chat_completions') return apiCurl(api, { origin, model, stream })
  return chatSamples({ baseUrl: origin, model, messages: [{ role: 'user', content: 'Hello' }], stream }).curl
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-2 font-medium text-ink">{title}</h3>
      {children}
    </section>
  )
}

function detailsOf(completion: WholeCompletion): readonly DetailsItem[] {
  const { model, provider, agent_id: agent, run_id: run, client_request_id: clientId } = completion
  const { request_id: requestId, session_id: session, end_user: endUser } = completion
  const tags = Object.entries(completion.tags)
  const rows: readonly (readonly [string, ReactNode])[] = [
    ['Completion ID', <CopyableId key="id" id={completion.id} />],
    ['Request ID', requestId === null ? <Dash key="request" /> : <CopyableId key="request" id={requestId} />],
    ['Model', <Away key="model" target={{ to: '/models/$', params: { _splat: model } }} text={model} />],
    ['Provider', provider],
    ['Key', <Away key="key" target={askerTarget(completion.key_id)} text={askerName(completion)} />],
    ['Key ID', <CopyableId key="key-id" id={completion.key_id} />],
    ...(agent === null
      ? []
      : ([
          ['Agent', <Away key="agent" target={{ to: '/agents/$agentId', params: { agentId: agent } }} text={agent} />],
          ['Run', run === null ? <Dash key="run" /> : <CopyableId key="run" id={run} />],
        ] as const)),
    ...(clientId === null ? [] : ([['Client’s request ID', <CopyableId key="client" id={clientId} />]] as const)),
    ...(tags.length === 0 ? [] : ([['Tags', tags.map(([key, value]) => `${key}=${value}`).join(', ')]] as const)),
    ...(session === null ? [] : ([['Session', <CopyableId key="session" id={session} />]] as const)),
    ...(endUser === null ? [] : ([['End user (hash)', <CopyableId key="end-user" id={endUser} />]] as const)),
    ['API', API_TEXTS[completion.api]],
    ['Streamed', completion.stream ? 'Yes' : 'No'],
    ['Finish reason', finishText(completion.finish_reason) ?? <Dash key="finish" />],
    ['Tokens read from cache', <Tokens key="cached" value={completion.cached_tokens} />],
    ['Tokens written to cache', <Tokens key="written" value={completion.cache_write_tokens} />],
    ['Reasoning tokens', <Tokens key="reasoning" value={completion.reasoning_tokens} />],
    ['Token count by', SOURCE_NAMES[completion.usage_source]],
    ['Price version', <CopyableId key="price" id={completion.price_version} />],
  ]
  return rows.map(([label, value]) => ({ label, value }))
}

const SOURCE_NAMES: Readonly<Record<WholeCompletion['usage_source'], string>> = {
  provider: 'The provider',
  estimated: 'Turnpike (estimated)',
  bounded: 'The provider (bounded)',
}

function Away({ target, text }: { readonly target: LinkTarget | undefined; readonly text: string }) {
  if (target === undefined) return text
  return (
    <AppLink {...target} className="break-words text-accent hover:underline">
      {text}
    </AppLink>
  )
}

function SheetSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <Skeleton className="h-24 w-full" />
      <SkeletonRows rows={3} />
      <SkeletonRows rows={8} />
    </div>
  )
}
