/** Entry of a database thread: opens its connection on request, then answers the messages in order. */
import { getPriority, platform, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { resultCodeOf } from '../failure.ts'
import { type Connection, openConnection, type ProgramModule } from './connection.ts'
import type { DatabaseMessage, DatabaseReply, SqlFailure, ThreadOptions } from './message.ts'

type Programs = ReadonlyMap<string, ProgramModule>

/** Reports get a third of the CPU share of completions when all cores are busy. */
const READER_NICENESS = 5
const LEAST_PRIORITY = 19

if (parentPort !== null) {
  const options = workerData as ThreadOptions // what `startThread` gave
  if (options.role === 'reader') lowerPriority()
  serve(parentPort, options, await loadPrograms(options))
}

/** Only Linux has priorities of threads; elsewhere this would change the whole process's. */
function lowerPriority(): void {
  if (platform() !== 'linux') return
  try {
    setPriority(Math.min(getPriority() + READER_NICENESS, LEAST_PRIORITY))
  } catch {
    // A container may forbid it: the thread keeps its priority.
  }
}

/** Messages wait in the port until all are loaded. */
async function loadPrograms({ programs = {} }: ThreadOptions): Promise<Programs> {
  const loaded = Object.entries(programs).map(async ([name, address]) => {
    const module = (await import(address)) as ProgramModule // the caller of `openDatabase` says that it is one
    return [name, module] as const
  })
  return new Map(await Promise.all(loaded))
}

function serve(port: MessagePort, options: ThreadOptions, programs: Programs): void {
  let connection: Connection | undefined
  const watcher = createWatcher(() => reply(port, { event: 'changed' }))
  const perform = (message: DatabaseMessage): unknown => {
    if (message.kind === 'open') connection = openConnection({ path: message.path, role: options.role })
    if (message.kind === 'close') {
      watcher.stop()
      connection?.close()
      connection = undefined
      if (!message.keep) port.close()
    }
    if (message.kind === 'open' || message.kind === 'close') return undefined
    if (connection === undefined) throw new Error('The database is not open.')
    if (message.kind === 'watch') return watcher.start(connection, message.intervalMs)
    if (message.kind === 'program') return runProgram(connection, programs.get(message.name), message.payload)
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

function runProgram(connection: Connection, program: ProgramModule | undefined, payload: unknown): unknown {
  if (program === undefined) throw new Error('The database was opened without this program.')
  try {
    const answer = program.run(connection.program, payload)
    if (connection.inTransaction()) throw new Error('The program left its transaction open.')
    return answer
  } catch (error) {
    connection.rollback()
    throw error
  }
}

function execute(connection: Connection, message: DatabaseMessage): unknown {
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

/** Undefined while the file cannot be read: the next poll retries. */
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
  return { message, resultCode: resultCodeOf(error) }
}
