/**
 * LangChain's standard tests (PyPI `langchain-tests`, synchronous and asynchronous) with its OpenAI client, on providers
 * of three shapes. Runs on one database: it is about the wire. Python's packages are installed once per machine, into a
 * virtual environment in the temporary folder.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { model, startGateway } from '../support/gateway.ts'
import { CLIENT_PACKAGES, pythonWith } from '../support/process/python-environment.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { modelDouble } from '../support/providers/model-double.ts'

const run = promisify(execFile)
const TESTS = join(import.meta.dirname, '../support/langchain/test_standard.py')
/** Of the tests: bounded by what they do, not by the clock of a busy machine. */
const TIMEOUT_MS = 540_000

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
  const python = await pythonWith(CLIENT_PACKAGES)
  // The client keeps its connections, which belong to an event loop: there is one for all tests.
  const loop = ['--asyncio-mode=auto', '-o', 'asyncio_default_test_loop_scope=session']
  const options = ['-m', 'pytest', '-q', '-rfE', '--no-header', '-p', 'no:cacheprovider', '--tb=short', ...loop, TESTS]
  const env = {
    ...process.env,
    GATEWAY_URL: `${gateway.url}/v1`,
    GATEWAY_KEY: key,
    LANGSMITH_TRACING: 'false',
  }
  const { stdout } = await run(python, options, { env, timeout: TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error: Error & { stdout?: string }) => assert.fail(`${error.message}\n${error.stdout?.slice(-8000)}`),
  )
  const [, passed = '0'] = /(\d+) passed/.exec(stdout) ?? []
  assert.ok(Number(passed) >= 100, stdout.slice(-2000))
  for (const { calls } of providers) assert.ok(calls.length > 20, 'every shape was asked')
  console.log(`langchain-tests: ${stdout.trim().split('\n').at(-1)}`)
})
