/**
 * Kysely over the two database threads. Selects outside transactions go to the reader, which sees everything that was
 * committed before it was asked; everything else goes to the writer.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { invalidText } from '../failure.ts'
import type { QueryRows, SqlValue } from './message.ts'
import type { DatabaseThread, Writer } from './thread.ts'

interface RoutedConnection extends DatabaseConnection {
  /** Whether this connection holds the writer thread. */
  inTransaction: boolean
}

export function threadDialect(threads: { readonly reader: DatabaseThread; readonly writer: Writer }): Dialect {
  return {
    createAdapter: () => ({
      supportsCreateIfNotExists: true,
      supportsMultipleConnections: true,
      supportsTransactionalDdl: true,
      supportsReturning: true,
      supportsOutput: false,
      acquireMigrationLock: () => Promise.resolve(),
      releaseMigrationLock: () => Promise.resolve(),
    }),
    createDriver: () => createDriver(threads.reader, threads.writer),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function createDriver(reader: DatabaseThread, writer: Writer): Driver {
  const endTransaction = (connection: DatabaseConnection) => {
    if (!isRouted(connection) || !connection.inTransaction) return
    connection.inTransaction = false
    writer.release()
  }
  const rollback = async (connection: DatabaseConnection) => {
    if (!isRouted(connection) || !connection.inTransaction) return
    try {
      await writer.sendHeld({ kind: 'rollback' })
    } finally {
      endTransaction(connection)
    }
  }
  return {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(createConnection(reader, writer)),
    async beginTransaction(connection) {
      await writer.hold()
      if (isRouted(connection)) connection.inTransaction = true
      try {
        await writer.sendHeld({ kind: 'begin' })
      } catch (error) {
        endTransaction(connection)
        throw error
      }
    },
    async commitTransaction(connection) {
      await writer.sendHeld({ kind: 'commit' })
      endTransaction(connection)
    },
    rollbackTransaction: rollback,
    releaseConnection: rollback,
    destroy: () => Promise.resolve(),
  }
}

function createConnection(reader: DatabaseThread, writer: Writer): RoutedConnection {
  return {
    inTransaction: false,
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const parameters = query.parameters as readonly SqlValue[] // SQLite rejects other values when it binds them
      if (parameters.some((value) => typeof value === 'string' && value.includes('\0'))) throw invalidText()
      const request = { kind: 'query', sql: query.sql, parameters, transaction: this.inTransaction } as const
      if (this.inTransaction) return toResult(await writer.sendHeld(request))
      return toResult(await (query.query.kind === 'SelectQueryNode' ? reader : writer).send(request))
    },
    streamQuery() {
      throw new Error('Results are not streamed: read them in pages.')
    },
  }
}

function isRouted(connection: DatabaseConnection): connection is RoutedConnection {
  return 'inTransaction' in connection
}

function toResult<Row>(result: QueryRows | undefined): QueryResult<Row> {
  const rows = (result?.rows ?? []) as Row[]
  return result?.changes === undefined ? { rows } : { rows, numAffectedRows: BigInt(result.changes) }
}
