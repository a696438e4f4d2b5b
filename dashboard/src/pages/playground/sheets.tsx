import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { present } from '../../lib/address.ts'
import { chatSamples, type JsonFields } from '../../lib/code-samples.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Segmented } from '../../ui/form/segmented.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Time } from '../../ui/values.tsx'
import type { CallableModel } from './callable.ts'
import { chatRequest, withoutImages } from './chat-request.ts'
import type { Column, Item, MessageItem } from './conversation.ts'
import type { HistoryEntry, RunHistory } from './history.ts'
import { type Run, textOfLog } from './run.ts'
import type { SheetName } from './search.ts'
import { DEFAULT_SETTINGS } from './settings.ts'
import { SettingsForm } from './settings-sheet.tsx'
import { type Draft, draftOf, messagesOf, type SetDraft } from './use-draft.ts'

export interface SheetsProps {
  readonly models: ReadonlyMap<string, CallableModel>
  readonly columns: readonly Column[]
  readonly draft: Draft
  readonly setDraft: SetDraft
  readonly history: RunHistory
}

export interface ColumnChoiceState {
  /** Counts from 1. */
  readonly number: number
  readonly onNumber: (number: number) => void
  readonly tab: string | undefined
  readonly onTab: (tab: string) => void
}

const route = getRouteApi('/playground')

/** What the address says is open beside the view. */
export function Sheets({ models, columns, draft, setDraft, history }: SheetsProps) {
  const { sheet, column, tab } = route.useSearch()
  const navigate = useNavigate({ from: '/playground' })
  const close = () =>
    void navigate({
      search: (before) => present({ ...before, sheet: undefined, column: undefined, tab: undefined }),
      replace: true,
    })
  const place: ColumnChoiceState = {
    number: Math.min(Math.max(1, Number(column) || 1), columns.length),
    onNumber: (number) => void navigate({ search: (before) => ({ ...before, column: String(number) }), replace: true }),
    tab,
    onTab: (next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true }),
  }
  const frame = (name: SheetName) => ({
    open: sheet === name,
    onOpenChange: (isOpen: boolean) => isOpen || close(),
  })
  const useAgain = ({ models: ids, ...run }: HistoryEntry) => {
    setDraft(draftOf(run))
    void navigate({ search: ids.length === 0 ? {} : { models: ids.join(',') }, replace: true })
  }
  const setSettings = (settings: Draft['settings']) => setDraft((now) => ({ ...now, settings }))
  return (
    <>
      <Sheet
        {...frame('settings')}
        title="Settings"
        description="For all models in this view, from the next run on."
        footer={
          <>
            <Button variant="ghost" onClick={() => setSettings(DEFAULT_SETTINGS)}>
              Reset
            </Button>
            <Button variant="primary" onClick={close}>
              Done
            </Button>
          </>
        }
      >
        <SettingsForm
          settings={draft.settings}
          onChange={(change) => setDraft((now) => ({ ...now, settings: { ...now.settings, ...change } }))}
          models={columns.map(({ model }) => models.get(model)).filter((model) => model !== undefined)}
        />
      </Sheet>
      <Sheet {...frame('code')} title="Code" description="The next request as code." size="lg">
        <CodeSheet models={models} columns={columns} draft={draft} place={place} />
      </Sheet>
      <Sheet {...frame('raw')} title="Request and response" description="The last run, as sent and received." size="lg">
        <RawSheet columns={columns} place={place} />
      </Sheet>
      <Sheet {...frame('history')} title="History" description="The last 20 runs in this browser, without images.">
        <HistorySheet history={history} onUse={useAgain} />
      </Sheet>
    </>
  )
}

/** Whose request is shown, where there are several. */
export function ColumnChoice({
  columns,
  place,
}: {
  readonly columns: readonly Column[]
  readonly place: ColumnChoiceState
}) {
  if (columns.length < 2) return null
  return (
    <Segmented
      label="Model"
      value={String(place.number)}
      onChange={(number) => place.onNumber(Number(number))}
      options={columns.map(({ model }, index) => ({
        value: String(index + 1),
        label: labelOf(model, index, columns),
      }))}
    />
  )
}

/** Of two columns with the same model, each has its place behind its name. */
function labelOf(model: string, index: number, columns: readonly Column[]): string {
  if (model === '') return `Model ${index + 1}`
  return columns.filter((column) => column.model === model).length > 1 ? `${model} (${index + 1})` : model
}

interface CodeSheetProps {
  readonly models: ReadonlyMap<string, CallableModel>
  readonly columns: readonly Column[]
  readonly draft: Draft
  readonly place: ColumnChoiceState
}

const LANGUAGES = [
  { value: 'curl', label: 'curl' },
  { value: 'python', label: 'Python' },
  { value: 'typescript', label: 'TypeScript' },
] as const

function CodeSheet({ models, columns, draft, place }: CodeSheetProps) {
  const column = columns[place.number - 1]
  const model = models.get(column?.model ?? '')
  const language = LANGUAGES.find(({ value }) => value === place.tab) ?? LANGUAGES[0]
  const code = column && model && samplesOf(column, model, draft)[language.value]
  return (
    <div className="flex flex-col gap-4">
      <ColumnChoice columns={columns} place={place} />
      {code === undefined ? (
        <p className="text-soft">Choose a model first.</p>
      ) : (
        <Tabs label="Language" value={language.value} onChange={place.onTab} items={LANGUAGES}>
          <CodeBlock code={code} label={`${language.label} code`} language={language.label} />
        </Tabs>
      )}
      <p className="text-sm text-soft">
        The code reads the key from <code className="font-mono">TURNPIKE_API_KEY</code>. Images are truncated here.
      </p>
    </div>
  )
}

const HELLO: MessageItem = { kind: 'message', id: 0, role: 'user', text: 'Hello!', images: [] }

function samplesOf({ items }: Column, model: CallableModel, draft: Draft) {
  const { system, settings } = draft
  const { body } = chatRequest({ model, system, items: nextItems(items, draft), settings })
  return chatSamples({
    baseUrl: `${location.origin}/v1`,
    model: model.id,
    messages: listOfMessages(body),
    parameters: body,
    team: settings.team,
    stream: true,
  })
}

/** With nothing drafted, what was sent last; with nothing sent, a greeting. */
function nextItems(items: readonly Item[], draft: Draft): readonly Item[] {
  const said = messagesOf(draft)
  if (said.length > 0) return [...items, ...said]
  const sent = items.at(-1)?.kind === 'answer' ? items.slice(0, -1) : items
  return sent.length === 0 ? [HELLO] : sent
}

function listOfMessages({ messages }: JsonFields) {
  const shown = withoutImages(messages ?? [])
  return Array.isArray(shown) ? shown : []
}

const TABS = [
  { value: 'request', label: 'Request' },
  { value: 'response', label: 'Response' },
] as const

function RawSheet({ columns, place }: { readonly columns: readonly Column[]; readonly place: ColumnChoiceState }) {
  const run = lastRun(columns[place.number - 1])
  const { value: tab } = TABS.find(({ value }) => value === place.tab) ?? TABS[0]
  return (
    <div className="flex flex-col gap-4">
      <ColumnChoice columns={columns} place={place} />
      {run === undefined ? (
        <p className="text-soft">No request to this model yet.</p>
      ) : (
        <Tabs label="Direction" value={tab} onChange={place.onTab} items={TABS}>
          {tab === 'request' ? (
            <CodeBlock code={requestText(run)} label="Request" language="POST /v1/chat/completions" />
          ) : (
            <CodeBlock code={responseText(run)} label="Response" language="Response" />
          )}
        </Tabs>
      )}
    </div>
  )
}

function lastRun(column: Column | undefined): Run | undefined {
  const last = column?.items.findLast((item) => item.kind === 'answer')
  return last?.kind === 'answer' ? last.run : undefined
}

function requestText({ request }: Run): string {
  const fields = Object.entries(request).map(([name, value]) => [name, withoutImages(value ?? null)])
  return JSON.stringify(Object.fromEntries(fields), null, 2)
}

/** The events of the stream, or why there is none. */
function responseText({ requestId, log, problem }: Run): string {
  const head = requestId === undefined ? '' : `x-request-id: ${requestId}\n\n`
  if (log.events > 0) return `${head}${textOfLog(log)}`
  return problem === undefined ? `${head}(nothing yet)` : JSON.stringify({ error: problem }, null, 2)
}

interface HistorySheetProps {
  readonly history: RunHistory
  readonly onUse: (entry: HistoryEntry) => void
}

function HistorySheet({ history, onUse }: HistorySheetProps) {
  const { entries } = history
  if (entries.length === 0) return <p className="text-soft">No runs yet. Your runs appear here.</p>
  return (
    <div className="flex flex-col gap-4">
      <ul className="flex flex-col divide-y divide-line rounded-xl border border-line">
        {entries.map((entry) => (
          <li key={entry.at} className="flex items-start gap-3 p-3">
            <div className="min-w-0 flex-1">
              <p className="line-clamp-2 break-words text-ink">{entry.messages.at(-1)?.text || 'An image'}</p>
              <p className="mt-0.5 text-sm break-words text-soft">
                <Time iso={entry.at} relative /> · {entry.models.join(', ')}
              </p>
            </div>
            <Button
              size="sm"
              onClick={() => onUse(entry)}
              aria-label={`Use again: ${entry.messages.at(-1)?.text ?? ''}`}
            >
              Use again
            </Button>
          </li>
        ))}
      </ul>
      <Button icon={Trash2} className="self-start" onClick={() => toast('History cleared.', { undo: history.clear() })}>
        Clear history
      </Button>
    </div>
  )
}
