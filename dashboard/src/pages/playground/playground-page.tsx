import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Braces, Eraser, History, Link2 } from 'lucide-react'
import { useId, useMemo, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan, useMe } from '../../api/me.ts'
import { present } from '../../lib/address.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button, LinkButton } from '../../ui/button.tsx'
import { copyText } from '../../ui/copy.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { type CallableModel, callableModels, defaultModels, modelOption } from './callable.ts'
import { Columns } from './columns.tsx'
import { Composer } from './composer.tsx'
import { focusMessage } from './composer-keys.ts'
import { useHistory } from './history.ts'
import { readModels, type SheetName, shareAddress } from './search.ts'
import { Sheets } from './sheets.tsx'
import { draftMessage, messagesOf, useDraft, withPrompt } from './use-draft.ts'
import { usePlayground } from './use-playground.ts'
import { useReplay } from './use-replay.ts'

export function PlaygroundPage() {
  if (useCan('chat')) return <WithModels />
  return (
    <Page title={TITLE}>
      <Forbidden what="the playground" right="chat" />
    </Page>
  )
}

function WithModels() {
  const query = useQuery(callableModelsQuery)
  if (query.data !== undefined && query.data.length > 0) return <Playground models={query.data} />
  return (
    <Page title={TITLE} description={NOTE} wide>
      <Loaded query={query} what="the models" skeleton={<Skeleton className="h-96 rounded-xl" />}>
        {() => (
          <Empty
            title="No callable models yet"
            action={<LinkButton to="/models">See all models</LinkButton>}
            command="turnpike doctor"
          >
            Configure a provider whose models have prices to try them here.
          </Empty>
        )}
      </Loaded>
    </Page>
  )
}

const callableModelsQuery = queryOptions({
  queryKey: ['/v1/models', 'callable'],
  staleTime: 60_000,
  queryFn: async () => callableModels((await take(api.GET('/v1/models'))).data, Date.now()),
})

const TITLE = 'Playground'
const NOTE = 'Requests are real and billed to this account.'

const route = getRouteApi('/playground')

function Playground({ models }: { readonly models: readonly CallableModel[] }) {
  const search = route.useSearch()
  const navigate = useNavigate({ from: '/playground' })
  const history = useHistory(useMe().user.id)
  const [usual] = useState(() => defaultModels(models, history.entries[0]?.models ?? []))
  const chosen = search.models === undefined ? usual : readModels(search)
  const byId = useMemo(() => new Map(models.map((model) => [model.id, model])), [models])
  const options = useMemo(() => models.map((model) => modelOption(model, Date.now())), [models])
  const [draft, setDraft] = useDraft(search)
  useReplay(search.request, setDraft)
  const playground = usePlayground({ models: byId, chosen, draft })
  const { columns, isEmpty } = playground

  const choose = (next: readonly string[]) =>
    void navigate({ search: (before) => ({ ...before, models: next.join(',') }), replace: true })
  const open = (sheet: SheetName, column?: number) =>
    void navigate({ search: (before) => present({ ...before, sheet, tab: undefined, column: column?.toString() }) })
  const send = () => {
    history.add({ models: chosen.filter((id) => byId.has(id)), draft })
    playground.send()
    setDraft((now) => ({ ...now, messages: [draftMessage()], images: [] }))
  }
  const share = () => {
    const said = columns[0]?.items.find((item) => item.kind === 'message' && item.role === 'user')
    const prompt = said?.kind === 'message' ? said.text : (messagesOf(draft).at(-1)?.text ?? '')
    void copyLink(shareAddress(location.origin + location.pathname, { models: chosen, system: draft.system, prompt }))
  }
  const clear = () => {
    toast('Conversation cleared.', { undo: playground.clear() })
    focusMessage()
  }

  return (
    <Page
      title={TITLE}
      description={NOTE}
      wide
      actions={
        <>
          <Button
            icon={Eraser}
            variant="ghost"
            unavailable={isEmpty ? 'The conversation is empty.' : undefined}
            onClick={clear}
          >
            Clear conversation
          </Button>
          <Button icon={History} variant="ghost" onClick={() => open('history')}>
            History
          </Button>
          <Button icon={Link2} onClick={share}>
            Copy link
          </Button>
          <Button icon={Braces} onClick={() => open('code')}>
            Get code
          </Button>
        </>
      }
    >
      <div className="flex min-w-0 flex-col gap-4">
        <Columns
          playground={playground}
          models={byId}
          options={options}
          onChoose={choose}
          onShowRaw={(number) => open('raw', number)}
        />
        {isEmpty && <Examples onPick={(text) => setDraft((now) => withPrompt(now, text))} />}
        <Composer
          draft={draft}
          setDraft={setDraft}
          chosen={chosen.map((id) => byId.get(id)).filter((model) => model !== undefined)}
          isRunning={playground.isRunning}
          onSend={send}
          onStop={playground.stopAll}
          onSettings={() => open('settings')}
        />
      </div>
      <Sheets models={byId} columns={columns} draft={draft} setDraft={setDraft} history={history} />
    </Page>
  )
}

async function copyLink(address: string | undefined): Promise<void> {
  if (address === undefined) return toast('System prompt and message are too long for a link.', { tone: 'bad' })
  try {
    await copyText(address)
    toast('Link copied. It has the models, the system prompt and the first message.')
  } catch {
    toast('The browser blocked copying.', { tone: 'bad' })
  }
}

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
function Examples({ onPick }: { readonly onPick: (prompt: string) => void }) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-2 text-sm font-medium text-soft">
        Write a message below, or start with an example
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
