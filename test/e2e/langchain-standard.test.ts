/**
 * LangChain's standard tests (PyPI `langchain-tests`, synchronous and asynchronous) with its OpenAI client, on providers
 * of three shapes. Runs on one database: it is about the wire. Python's packages are installed once per machine, into a
 * virtual environment in the temporary folder.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startFakeProvider } from '../support/fake-provider.ts'
import { model, startGateway } from '../support/gateway.ts'
import { modelDouble } from '../support/model-double.ts'

const run = promisify(execFile)
const PACKAGES = ['langchain-tests==1.1.9', 'langchain-openai==1.7.3']
const ENVIRONMENT = join(tmpdir(), `turnpike-python-${PACKAGES.join('-').replaceAll('==', '-')}`)
const TESTS = join(import.meta.dirname, '../support/langchain/test_standard.py')
/** Of pip and of the tests: both are bounded by what they do, not by the clock of a busy machine. */
const TIMEOUT_MS = 540_000

/** @returns the interpreter. Built beside its place and moved there whole, so that nobody finds half of it. */
async function pythonOf(): Promise<string> {
  const python = join(ENVIRONMENT, 'bin', 'python')
  if (existsSync(python)) return python
  const draft = await mkdtemp(join(tmpdir(), 'turnpike-python-'))
  try {
    await run('python3', ['-m', 'venv', draft], { timeout: TIMEOUT_MS })
    await run(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...PACKAGES], { timeout: TIMEOUT_MS })
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    const cause = error instanceof Error ? error.message : String(error)
    throw new Error(`LangChain's standard tests need python3 with venv, and pip with a package index: ${cause}`)
  }
  await rename(draft, ENVIRONMENT).catch(() => rm(draft, { recursive: true, force: true })) // another run was first
  return python
}

const SHAPES = [
  ['openai', { kind: 'openai', api_key: 'sk-openai' }, 'gpt-5.4'],
  ['anthropic', { kind: 'anthropic', api_key: 'sk-anthropic' }, 'claude-sonnet-4-5'],
  ['google', { kind: 'google', api_key: 'sk-google' }, 'gemini-2.5-flash'],
] as const
const providers = await Promise.all(SHAPES.map(([shape]) => startFakeProvider(modelDouble(shape))))
const gateway = await startGateway({
  config: {
    providers: Object.fromEntries(
      SHAPES.map(([shape, settings], at) => [shape, { ...settings, base_url: providers[at]?.url }]),
    ),
    models: SHAPES.map(([shape, , native]) => model(shape, shape, native)),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await Promise.all(providers.map((provider) => provider.close()))
})

test('LangChain’s standard tests pass on OpenAI-, Anthropic- and Gemini-shaped providers', async () => {
  const python = await pythonOf()
  // The client keeps its connections, which belong to an event loop: there is one for all tests.
  const loop = ['--asyncio-mode=auto', '-o', 'asyncio_default_test_loop_scope=session']
  const options = ['-m', 'pytest', '-q', '-rfE', '--no-header', '-p', 'no:cacheprovider', '--tb=short', ...loop, TESTS]
  const env = {
    ...process.env,
    GATEWAY_URL: `${gateway.url}/v1`,
    GATEWAY_KEY: key,
    LANGSMITH_TRACING: 'false',
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const { stdout } = await run(python, options, { env, timeout: TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error: Error & { stdout?: string }) => assert.fail(`${error.message}\n${error.stdout?.slice(-8000)}`),
  )
  const [, passed = '0'] = /(\d+) passed/.exec(stdout) ?? []
  assert.ok(Number(passed) >= 100, stdout.slice(-2000))
  for (const { calls } of providers) assert.ok(calls.length > 20, 'every shape was asked')
  console.log(`langchain-tests: ${stdout.trim().split('\n').at(-1)}`)
})
