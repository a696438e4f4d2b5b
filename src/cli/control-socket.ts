/**
 * Control sockets in the data directory, one for each running gateway, and `turnpike reload`, which uses them. Only the
 * owner of the directory can connect.
 */
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { makeDirectory } from '../db/directory.ts'
import { isRecord, textOf } from '../lib/json.ts'
import { loadCliConfig } from './configuration.ts'
import { type JsonOption, printResult } from './output.ts'

const NAME = /^control-(\d+)\.sock$/
/** Maximum length of a socket's path: Linux allows 107 bytes, macOS 103. */
const MAX_PATH_BYTES = 103
const MAX_ANSWER_MS = 30_000

/** Reloads the configuration. @returns Problems; none if it succeeded. */
export type Reload = () => Promise<readonly string[]>

/** Listens until the process ends. Throws if the socket cannot be created. */
export async function listenForCommands(dataDirectory: string, reload: Reload): Promise<void> {
  if (process.platform === 'win32') throw new Error('Unix sockets are not supported on Windows')
  makeDirectory(dataDirectory)
  const path = join(dataDirectory, `control-${process.pid}.sock`)
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new Error(`${path} is longer than ${MAX_PATH_BYTES} bytes`)
  rmSync(path, { force: true }) // left by a killed process with the same ID
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

/** Makes every gateway of this data directory reload. Removes sockets of killed processes. */
async function reloadServices(dataDirectory: string): Promise<readonly ReloadOutcome[]> {
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
    return [] // the folder does not exist
  }
}

/** Undefined: the process no longer runs. */
async function askToReload(path: string): Promise<readonly string[] | undefined> {
  const socket = createConnection(path)
  socket.setTimeout(MAX_ANSWER_MS, () => socket.destroy(new Error(`no response within ${MAX_ANSWER_MS / 1000} s`)))
  try {
    const answer: unknown = JSON.parse(await text(socket))
    const problems = isRecord(answer) ? answer['problems'] : undefined
    return Array.isArray(problems) ? problems.map(textOf) : ['unknown response: the gateway is of another release']
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')) return [String(error)]
    rmSync(path, { force: true })
    return undefined
  }
}

/** Rejects unless at least one gateway runs and all of them reload. */
export async function reload(options: JsonOption): Promise<void> {
  const { data_dir: dataDirectory } = await loadCliConfig()
  const outcomes = await reloadServices(dataDirectory)
  if (outcomes.length === 0) throw new Error(`No gateway on this machine uses ${dataDirectory}.`)
  const failed = outcomes.filter(({ problems }) => problems.length > 0)
  const reloaded = outcomes.filter(({ problems }) => problems.length === 0)
  const lines = reloaded.map(({ pid }) => `Process ${pid} reloaded its configuration.`)
  if (options.json === true || lines.length > 0) printResult(options, { data: outcomes }, lines.join('\n'))
  if (failed.length === 0) return
  const problems = failed.map(({ pid, problems }) => `process ${pid}: ${problems.join('; ')}`)
  throw new Error(`Reload failed, the current configuration stays active: ${problems.join(' ')}`)
}
