/** Tests that are published for Python: an interpreter with pinned packages, installed once per machine. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** Of pip: bounded by what it downloads, not by the clock of a busy machine. */
const TIMEOUT_MS = 540_000

/**
 * @param packages With exact versions, as pip takes them.
 * @returns the interpreter of a virtual environment in the temporary folder, which is renamed when it is complete.
 * Throws with the commands to install it where that fails.
 */
export async function pythonWith(packages: readonly string[]): Promise<string> {
  const environment = join(tmpdir(), `turnpike-python-${packages.join('-').replaceAll('==', '-')}`)
  const python = join(environment, 'bin', 'python')
  if (existsSync(python)) return python
  const draft = await mkdtemp(join(tmpdir(), 'turnpike-python-'))
  try {
    await run('python3', ['-m', 'venv', draft], { timeout: TIMEOUT_MS })
    await run(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages], { timeout: TIMEOUT_MS })
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    const cause = error instanceof Error ? error.message : String(error)
    const commands = `python3 -m venv ${environment} && ${python} -m pip install ${packages.join(' ')}`
    throw new Error(`Python packages of this test are not installed. Install them with: ${commands}\n${cause}`)
  }
  await rename(draft, environment).catch(() => rm(draft, { recursive: true, force: true })) // another run was first
  return python
}
