import { Tabs } from '../../ui/choices.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { withoutImages } from './chat-request.ts'
import { ColumnChoice } from './column-choice.tsx'
import type { Column } from './conversation.ts'
import { textOfLog } from './raw-log.ts'
import type { Run } from './run.ts'
import type { SheetPlace } from './sheets.tsx'

const TABS = [
  { value: 'request', label: 'Request' },
  { value: 'response', label: 'Response' },
] as const

export function RawSheet({ columns, place }: { readonly columns: readonly Column[]; readonly place: SheetPlace }) {
  const run = lastRun(columns[place.number - 1])
  const { value: tab } = TABS.find(({ value }) => value === place.tab) ?? TABS[0]
  return (
    <div className="flex flex-col gap-4">
      <ColumnChoice columns={columns} place={place} />
      {run === undefined ? (
        <p className="text-soft">Nothing was sent to this model yet.</p>
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
