/**
 * Parquet files of completions. `docs/exports.md` describes the columns, which are only ever added to. The library is loaded
 * with the first file.
 */
import type { Selectable } from 'kysely'
import type { CompletionTable } from '../../db/schema/schema.ts'
import { tagsOfText } from '../../domain/attribution.ts'
import type { UserId } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'

/** A completion as it is read for a file. */
export interface ExportedRow extends Omit<Selectable<CompletionTable>, 'attempt_log'> {
  /** Who created the key, whose the device is, or the person. */
  readonly member_id: UserId | null
}

/** What the rows of a file have in common, and what the database does not know. */
export interface FileContext {
  /** Of two rows with the same `id` the one of the later version is current. */
  readonly version: number
  readonly kindOf: (model: string) => ModelKind
}

type Value = string | bigint | boolean | null
interface Column {
  readonly type: keyof typeof PARQUET_TYPES
  /** Whether some rows have none. */
  readonly isOptional: boolean
  readonly value: (row: ExportedRow, context: FileContext) => Value
}

const PARQUET_TYPES = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  whole: { type: 'INT64' },
  flag: { type: 'BOOLEAN' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  usd: { type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: 9 },
} as const

type Read<Result extends Value> = (row: ExportedRow, context: FileContext) => Result
const text = (value: Read<string>): Column => ({ type: 'text', isOptional: false, value })
const optionalText = (value: Read<string | null>): Column => ({ type: 'text', isOptional: true, value })
const whole = (value: (row: ExportedRow, context: FileContext) => number): Column => ({
  type: 'whole',
  isOptional: false,
  value: (row, context) => BigInt(value(row, context)),
})
/** Nano-dollars are DECIMAL(18, 9) as they are. */
const usd = (value: Read<bigint>): Column => ({ type: 'usd', isOptional: false, value })

export const EXPORT_COLUMNS: Readonly<Record<string, Column>> = {
  id: text(({ id }) => id),
  version: whole((_, { version }) => version),
  created_at: { type: 'time', isOptional: false, value: ({ created_at: at }) => BigInt(at) },
  account_id: text(({ account_id: id }) => id),
  team_id: optionalText(({ team_id: id }) => id),
  member_id: optionalText(({ member_id: id }) => id),
  key_id: text(({ key_id: id }) => id),
  model: text(({ model }) => model),
  provider: text(({ provider }) => provider),
  kind: text(({ model }, { kindOf }) => kindOf(model)),
  api: text(({ api }) => api ?? 'chat_completions'),
  status: text(({ status }) => status),
  finish_reason: optionalText(({ finish_reason: reason }) => reason),
  stream: { type: 'flag', isOptional: false, value: ({ stream }) => stream === 1 },
  prompt_tokens: whole((row) => row.prompt_tokens),
  completion_tokens: whole((row) => row.completion_tokens),
  cached_tokens: whole((row) => row.cached_tokens),
  cache_write_tokens: whole((row) => row.cache_write_tokens),
  reasoning_tokens: whole((row) => row.reasoning_tokens),
  usage_detail: optionalText(({ usage_detail: detail }) => detail),
  usage_source: text((row) => (row.usage_bounded === 1 ? 'bounded' : row.usage_source)),
  cost_usd: usd((row) => row.cost_nano_usd),
  unbilled_usd: usd((row) => row.unbilled_nano_usd ?? 0n),
  provider_cost_usd: usd((row) => row.provider_cost_nano_usd ?? row.cost_nano_usd),
  price_version: text((row) => row.price_version),
  price_rule: optionalText((row) => row.price_rule),
  tags: text(({ tags }) => JSON.stringify(tagsOfText(tags))),
  session_id: optionalText((row) => row.session_id),
  end_user: optionalText((row) => row.end_user),
  request_id: optionalText((row) => row.request_id),
  client_request_id: optionalText((row) => row.client_request_id),
  duration_ms: whole((row) => row.duration_ms),
  first_byte_ms: { type: 'whole', isOptional: true, value: firstByte },
  attempts: whole((row) => row.attempts),
}

function firstByte({ first_byte_ms: ms }: ExportedRow): bigint | null {
  return ms === null ? null : BigInt(ms)
}

export interface CompletionFile {
  /** Adds a row group. */
  add(rows: readonly ExportedRow[]): void
  end(): Uint8Array
}

export async function createCompletionFile(context: FileContext): Promise<CompletionFile> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer')
  const columns = Object.entries(EXPORT_COLUMNS)
  const elements = columns.map(([name, { type, isOptional }]) => {
    return { name, ...PARQUET_TYPES[type], repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED' } as const
  })
  const writer = new ByteWriter()
  const schema = [{ name: 'completion', num_children: elements.length }, ...elements]
  const parquet = new ParquetWriter({ writer, schema, createdBy: 'Turnpike' })
  return {
    add(rows) {
      const columnData = columns.map(([name, { type, value }]) => {
        return { name, data: rows.map((row) => value(row, context)), statistics: type === 'time', offsetIndex: false }
      })
      void parquet.write({ columnData, rowGroupSize: rows.length })
    },
    end() {
      void parquet.finish()
      return writer.getBytes()
    },
  }
}
