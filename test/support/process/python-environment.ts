/** Tests that are published for Python: an interpreter with pinned packages, installed once per machine. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** The clients of all tests, in one environment. */
export const CLIENT_PACKAGES = [
  'langchain-tests==1.1.9',
  'langchain-openai==1.7.3',
  'anthropic==2.12.0',
  'openai-agents==0.24.0',
  'pydantic-ai-slim[openai,anthropic]==2.68.0',
  'llm==0.36',
]
/** Its OpenAI client is older than that of the others. */
export const LLAMAINDEX_PACKAGES = ['llama-index-llms-openai-like==0.8.1']

/** Installs in a tenth of the CPU time that pip takes. */
const UV = 'uv==0.13.9'

/** Of an installation: bounded by what it downloads, not by the clock of a busy machine. */
const TIMEOUT_MS = 540_000

const POLL_MS = 500

/**
 * @param packages With exact versions, as pip takes them.
 * @returns the interpreter of a virtual environment, without pip, in the temporary folder.
 * Throws with the commands to install it where that fails.
 */
export async function pythonWith(packages: readonly string[]): Promise<string> {
  const environment = join(tmpdir(), `turnpike-python-${packages.join('-').replaceAll('==', '-')}`)
  await installOnce(environment, async (draft) => {
    try {
      await installWithUv(draft, packages).catch(() => installWithPip(draft, packages))
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      const python = join(environment, 'bin', 'python')
      const commands = `python3 -m venv ${environment} && ${python} -m pip install ${packages.join(' ')}`
      throw new Error(`Python packages of this test are not installed. Install them with: ${commands}\n${cause}`)
    }
  })
  return join(environment, 'bin', 'python')
}

async function installWithUv(environment: string, packages: readonly string[]): Promise<void> {
  const tool = join(tmpdir(), `turnpike-python-${UV.replace('==', '-')}`)
  await installOnce(tool, async (draft) => {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', draft, UV], { timeout: TIMEOUT_MS })
  })
  await run('python3', ['-m', 'venv', '--without-pip', environment], { timeout: TIMEOUT_MS })
  const options = ['--quiet', '--cache-dir', `${tool}-cache`, '--python', join(environment, 'bin', 'python')]
  await run(join(tool, 'bin', 'uv'), ['pip', 'install', ...options, ...packages], { timeout: TIMEOUT_MS })
}

/** Where uv cannot be had, or does not know the machine's index of packages. */
async function installWithPip(environment: string, packages: readonly string[]): Promise<void> {
  const options = ['--quiet', '--no-compile']
  await run('python3', ['-m', 'venv', '--clear', environment], { timeout: TIMEOUT_MS })
  const python = join(environment, 'bin', 'python')
  await run(python, ['-m', 'pip', 'install', ...options, ...packages], { timeout: TIMEOUT_MS })
}

/**
 * Of several processes that want the same folder one makes it, and the others wait for it.
 * @param install Fills a draft of the folder, which is renamed when it is complete.
 */
async function installOnce(folder: string, install: (draft: string) => Promise<void>): Promise<void> {
  const lock = `${folder}.lock`
  while (!existsSync(folder)) {
    if (!takeLock(lock)) {
      await sleep(POLL_MS)
      continue
    }
    const draft = await mkdtemp(join(tmpdir(), 'turnpike-python-'))
    try {
      if (existsSync(folder)) return
      await install(draft)
      await rename(draft, folder)
    } finally {
      await rm(draft, { recursive: true, force: true })
      rmSync(lock, { force: true })
    }
  }
}

/** @returns False while another process has it; that of a process which has ended is removed. */
function takeLock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    if (!isHeld(path)) rmSync(path, { force: true })
    return false
  }
}

/** Also while its owner, which is yet to be written, is 0: that is this process. */
function isHeld(path: string): boolean {
  try {
    return process.kill(Number(readFileSync(path, 'utf8')), 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
