/**
 * Sockets in the data directory by which commands reach running services of this machine, one for each process. They answer
 * whoever can enter the directory, which is its owner alone.
 */
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { makeDirectory } from '../db/make-directory.ts'
import { isRecord, textOf } from '../lib/json.ts'

const NAME = /^control-(\d+)\.sock$/
/** Of a socket's path, in bytes: Linux takes 107, macOS 103. */
const MAX_PATH_BYTES = 103
const MAX_ANSWER_MS = 30_000

/** What a service does when it is asked. @returns What is wrong; nothing: it is done. */
export type Reload = () => Promise<readonly string[]>

/** Listens until the process ends. Throws where there can be no such socket. */
export async function listenForCommands(dataDirectory: string, reload: Reload): Promise<void> {
  if (process.platform === 'win32') throw new Error('Windows has no such sockets')
  makeDirectory(dataDirectory)
  const path = join(dataDirectory, `control-${process.pid}.sock`)
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new Error(`${path} is longer than ${MAX_PATH_BYTES} bytes`)
  rmSync(path, { force: true }) // of a process that had this number and was killed
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    const answer = (problems: readonly string[]) => socket.end(JSON.stringify({ problems }))
    reload().then(answer, (error: unknown) => answer([String(error)]))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  chmodSync(path, 0o600)
  server.unref()
  process.once('exit', () => rmSync(path, { force: true }))
}

export interface ReloadOutcome {
  readonly pid: number
  readonly problems: readonly string[]
}

/** Asks every service of this machine that has its data there. What killed processes left is removed. */
export async function reloadServices(dataDirectory: string): Promise<readonly ReloadOutcome[]> {
  const outcomes = await Promise.all(
    namesIn(dataDirectory).map(async (name): Promise<ReloadOutcome | undefined> => {
      const problems = await askToReload(join(dataDirectory, name))
      return problems && { pid: Number(NAME.exec(name)?.[1]), problems }
    }),
  )
  return outcomes.filter((outcome) => outcome !== undefined)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => NAME.test(name))
  } catch {
    return [] // there is no such folder
  }
}

/** Undefined: nobody is there any more. */
async function askToReload(path: string): Promise<readonly string[] | undefined> {
  const socket = createConnection(path)
  socket.setTimeout(MAX_ANSWER_MS, () => socket.destroy(new Error(`no answer within ${MAX_ANSWER_MS / 1000} s`)))
  try {
    const answer: unknown = JSON.parse(await text(socket))
    const problems = isRecord(answer) ? answer['problems'] : undefined
    return Array.isArray(problems) ? problems.map(textOf) : ['an answer that this release does not understand']
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')) return [String(error)]
    rmSync(path, { force: true })
    return undefined
  }
}
