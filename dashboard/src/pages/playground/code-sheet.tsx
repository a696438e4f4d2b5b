import { chatSamples, type JsonFields } from '../../lib/code-samples.ts'
import { Tabs } from '../../ui/choices.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import type { CallableModel } from './callable.ts'
import { chatRequest, withoutImages } from './chat-request.ts'
import { ColumnChoice } from './column-choice.tsx'
import type { Column, Item, MessageItem } from './conversation.ts'
import type { SheetPlace } from './sheets.tsx'
import { type Draft, saidBy } from './use-draft.ts'

export interface CodeSheetProps {
  readonly models: ReadonlyMap<string, CallableModel>
  readonly columns: readonly Column[]
  readonly draft: Draft
  readonly place: SheetPlace
}

const LANGUAGES = [
  { value: 'curl', label: 'curl' },
  { value: 'python', label: 'Python' },
  { value: 'typescript', label: 'TypeScript' },
] as const

export function CodeSheet({ models, columns, draft, place }: CodeSheetProps) {
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
        The key is read from the variable <code className="font-mono">TURNPIKE_API_KEY</code>. Images are cut short
        here.
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
    stream: true,
  })
}

/** With nothing drafted, what was sent last; with nothing sent, a greeting. */
function nextItems(items: readonly Item[], draft: Draft): readonly Item[] {
  const said = saidBy(draft)
  if (said.length > 0) return [...items, ...said]
  const sent = items.at(-1)?.kind === 'answer' ? items.slice(0, -1) : items
  return sent.length === 0 ? [HELLO] : sent
}

function listOfMessages({ messages }: JsonFields) {
  const shown = withoutImages(messages ?? [])
  return Array.isArray(shown) ? shown : []
}
