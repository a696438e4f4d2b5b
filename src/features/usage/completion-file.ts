/** Completions as a file: comma-separated values, made piece by piece, so that other requests have their turn. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { readAgentReference } from '../../domain/agent.ts'
import type { CompletionId } from '../../domain/ids.ts'
import { usdText } from '../../domain/money.ts'
import type { PageSizes } from '../../http/page.ts'
import { type CsvField, harmlessText, renderCsv } from '../../lib/csv.ts'
import { type CompletionListInput, type CompletionRow, listCompletions } from './completion-list.ts'
import { isoTime } from './wire-fields.ts'

export const MAX_FILE_ROWS = 10_000
const ROWS_AT_ONCE = 1_000

export const FILE_SIZES: PageSizes = { usual: MAX_FILE_ROWS, most: MAX_FILE_ROWS }

export interface CompletionFile {
  /** UTF-8: the header, then rows. */
  readonly parts: readonly Buffer[]
  /** Of what is in the file, and one more where it could go on. */
  readonly ids: readonly CompletionId[]
}

/** What the list has, at most `limit` rows of it. */
export async function readCompletionFile(db: Kysely<Database>, list: CompletionListInput): Promise<CompletionFile> {
  const { limit } = list
  const parts = [Buffer.from(renderCsv([NAMES]))]
  const ids: CompletionId[] = []
  while (ids.length <= limit) {
    const wanted = Math.min(ROWS_AT_ONCE, limit + 1 - ids.length)
    const rows = await listCompletions(db, { ...list, limit: wanted, after: ids.at(-1) ?? list.after })
    parts.push(Buffer.from(renderCsv(rows.slice(0, limit - ids.length).map(fieldsOf))))
    ids.push(...rows.map(({ id }) => id))
    if (rows.length < wanted) break
    await turn()
  }
  return { parts, ids }
}

type Column = readonly [name: string, field: (row: CompletionRow) => CsvField | null]

/** Dollars as decimal text, exact however many there are. */
const COLUMNS: readonly Column[] = [
  ['id', ({ id }) => id],
  ['created_at', (row) => isoTime(row.created_at)],
  ['model', ({ model }) => harmlessText(model)],
  ['provider', ({ provider }) => harmlessText(provider)],
  ['status', ({ status }) => status],
  ['stream', ({ stream }) => String(stream === 1)],
  ['finish_reason', (row) => row.finish_reason],
  ['key_id', (row) => row.key_id],
  ['prompt_tokens', (row) => row.prompt_tokens],
  ['cached_tokens', (row) => row.cached_tokens],
  ['cache_write_tokens', (row) => row.cache_write_tokens],
  ['completion_tokens', (row) => row.completion_tokens],
  ['reasoning_tokens', (row) => row.reasoning_tokens],
  ['cost_usd', (row) => usdText(row.cost_nano_usd)],
  ['usage_source', (row) => (row.usage_bounded === 1 ? 'bounded' : row.usage_source)],
  ['first_byte_ms', (row) => row.first_byte_ms],
  ['duration_ms', (row) => row.duration_ms],
  ['attempts', ({ attempts }) => attempts],
  ['client_request_id', clientName],
  ['unbilled_usd', (row) => usdText(row.unbilled_nano_usd ?? 0n)],
]
const NAMES = COLUMNS.map(([name]) => name)

function fieldsOf(row: CompletionRow): readonly CsvField[] {
  return COLUMNS.map(([, field]) => field(row) ?? '')
}

/** An agent's own reference is no name that a client gave, as in the list. */
function clientName({ client_request_id: name }: CompletionRow): string | null {
  return name === null || readAgentReference(name) !== undefined ? null : harmlessText(name)
}
