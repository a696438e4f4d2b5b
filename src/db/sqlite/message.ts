/** Messages between the main thread and the two database threads: plain data for structured clone. */

/** Parameters and columns. Booleans are 0 and 1; absent is null. */
export type SqlValue = string | number | bigint | null | Uint8Array

/** One SQL text, run once for every list of parameters. */
export interface StatementGroup {
  readonly sql: string
  readonly rows: readonly (readonly SqlValue[])[]
}

export type DatabaseMessage = { readonly id: number } & DatabaseRequest
export type DatabaseRequest =
  | {
      readonly kind: 'query'
      readonly sql: string
      readonly parameters: readonly SqlValue[]
      /** Rejected when SQLite has rolled the transaction back itself, as it does when the disk is full. */
      readonly transaction: boolean
    }
  | { readonly kind: 'batch'; readonly groups: readonly StatementGroup[] }
  /** Comes first: the threads start side by side, but the reader's connection needs the writer's file. */
  | { readonly kind: 'open'; readonly path: string }
  /** `begin` takes the write lock at once; `rollback` is harmless without a transaction. */
  | { readonly kind: 'begin' | 'commit' | 'rollback' | 'ping' }
  /** `keep` leaves the thread running, without a connection, until the next `open`. */
  | { readonly kind: 'close'; readonly keep: boolean }
  /** Poll interval of `PRAGMA data_version`; undefined: stop polling. */
  | { readonly kind: 'watch'; readonly intervalMs: number | undefined }
  | { readonly kind: 'program'; readonly name: string; readonly payload: unknown }

export interface QueryRows {
  readonly rows: readonly Record<string, SqlValue>[]
  /** Undefined for statements that return rows. */
  readonly changes: number | undefined
}
export interface SqlFailure {
  readonly message: string
  /** SQLite's extended result code; undefined when the failure is not SQLite's. */
  readonly resultCode: number | undefined
}
export type DatabaseReply =
  /** `QueryRows` for a query, a program's result for a program, else undefined. */
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: SqlFailure }
  | { readonly event: 'changed' }

export interface ThreadOptions {
  readonly role: 'writer' | 'reader'
  /** URLs of the programs' modules, by name. */
  readonly programs?: Readonly<Record<string, string>> | undefined
}
