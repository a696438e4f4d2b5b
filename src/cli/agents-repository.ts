/** Which repository a folder is a clone of. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isRepository } from './agents-values.ts'
import { note } from './remote/results.ts'
import { wrongUsage } from './wrong-usage.ts'

const GIT_TIMEOUT_MS = 10_000

/** Of the working directory, by its remote `origin`. What is wrong with that is wrong usage: the flag says it better. */
export async function inferRepository(): Promise<string> {
  const address = await originOf(process.cwd())
  if (address === undefined) throw unknown("this folder has no git repository with a remote 'origin'")
  const repository = repositoryOf(address)
  // the address is not shown: there may be a password in it
  if (repository === undefined)
    throw unknown("the remote 'origin' of this folder is no https or ssh address of organisation/repository")
  note(`The repository is ${repository}, by the remote 'origin'.`)
  return repository
}

async function originOf(folder: string): Promise<string | undefined> {
  try {
    const options = { cwd: folder, timeout: GIT_TIMEOUT_MS }
    const { stdout } = await promisify(execFile)('git', ['remote', 'get-url', 'origin'], options)
    return stdout.trim()
  } catch {
    return undefined
  }
}

/** Of `https://host/o/r.git`, `ssh://git@host:22/o/r`, `git@host:o/r.git`. Undefined for anything else. */
export function repositoryOf(address: string): string | undefined {
  const path = pathOf(address)
    ?.replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/i, '')
  return path !== undefined && isRepository(path) ? path : undefined
}

function pathOf(address: string): string | undefined {
  if (/^(https?|ssh|git\+ssh):\/\//i.test(address)) return URL.parse(address)?.pathname
  // a single letter before the colon is a drive
  const [, path] = /^(?:[^@:/\s]+@)?(?:\[[^\]\s]+\]|[^:/@\s]{2,}):(?!\/\/)(\S+)$/.exec(address) ?? []
  return path
}

function unknown(reason: string): Error {
  return wrongUsage(`${reason}; name one with --repository organisation/repository.`)
}
