/** Entry of a database thread: opens its connection when told, then answers one message after the other, in order. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Connection, openConnection } from './connection.ts'
import type { DatabaseMessage, DatabaseReply, QueryRows, SqlFailure, ThreadOptions } from './message.ts'

if (parentPort !== null) serve(parentPort, workerData as ThreadOptions)

function serve(port: MessagePort, options: ThreadOptions): void {
  let connection: Connection | undefined
  const watcher = createWatcher(() => reply(port, { event: 'changed' }))
  const perform = (message: DatabaseMessage): QueryRows | undefined => {
    if (message.kind === 'open') connection = openConnection(options)
    if (message.kind === 'close') {
      watcher.stop()
      connection?.close()
      port.close()
    }
    if (message.kind === 'open' || message.kind === 'close') return undefined
    if (connection === undefined) throw new Error('The database is not open.')
    if (message.kind === 'watch') return watcher.start(connection, message.intervalMs)
    return execute(connection, message)
  }
  port.on('message', (message: DatabaseMessage) => {
    let answer: DatabaseReply
    try {
      answer = { id: message.id, result: perform(message) }
    } catch (error) {
      answer = { id: message.id, failure: failureOf(error) }
    }
    reply(port, answer)
  })
}

function execute(connection: Connection, message: DatabaseMessage): QueryRows | undefined {
  if (message.kind === 'query') {
    if (message.transaction && !connection.inTransaction()) throw new Error('SQLite has rolled the transaction back.')
    return connection.query(message.sql, message.parameters)
  }
  if (message.kind === 'ping') return connection.query('select count(*) as tables from sqlite_schema', [])
  if (message.kind === 'batch') connection.batch(message.groups)
  if (message.kind === 'begin') connection.begin()
  if (message.kind === 'commit') connection.commit()
  if (message.kind === 'rollback') connection.rollback()
  return undefined
}

function createWatcher(onChanged: () => void) {
  let timer: NodeJS.Timeout | undefined
  const stop = () => clearInterval(timer)
  return {
    stop,
    start(connection: Connection, intervalMs: number | undefined): undefined {
      stop()
      if (intervalMs === undefined) return
      let seen = connection.dataVersion()
      timer = setInterval(() => {
        const version = versionOf(connection)
        if (version === undefined || version === seen) return
        seen = version
        onChanged()
      }, intervalMs)
    },
  }
}

/** Undefined while the file cannot be read: the next look tells. */
function versionOf(connection: Connection): number | undefined {
  try {
    return connection.dataVersion()
  } catch {
    return undefined
  }
}

function reply(port: MessagePort, message: DatabaseReply): void {
  port.postMessage(message)
}

function failureOf(error: unknown): SqlFailure {
  const message = error instanceof Error ? error.message : String(error)
  const resultCode = error instanceof Error && 'errcode' in error ? Number(error.errcode) : undefined
  return { message, resultCode }
}
