/**
 * Claude Code, as its users run it, on providers of three protocols: it reads and edits a file, and each of its calls is
 * one row. Runs on one database: it is about the wire, and the rows are those of the Messages API.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { arch, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { model, startGateway } from '../support/gateway.ts'
import { checkRows, everyRow, type UsageRow } from '../support/ledger/money.ts'
import { makeHome } from '../support/process/command-line.ts'
import { npmClient } from '../support/process/npm-client.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, NATIVES, nativeProviders, type Said } from '../support/providers/native-answers.ts'

const CLAUDE_CODE = '@anthropic-ai/claude-code@2.1.197'
const PROTOCOLS = ['anthropic', 'google', 'azure'] as const
const run = promisify(execFile)

const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url, PROTOCOLS),
    models: PROTOCOLS.map((name) => ({
      ...model(name, name, NATIVES[name]?.model ?? ''),
      context_window: 200_000,
      max_output_tokens: 32_000,
    })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
  },
})
const installed = await npmClient(CLAUDE_CODE)
const program = join(installed, `node_modules/@anthropic-ai/claude-code-linux-${arch()}/claude`)
const home = await mkdtemp(join(tmpdir(), 'turnpike-claude-home-'))
after(async () => {
  await gateway.stop()
  await provider.close()
  await rm(home, { recursive: true, force: true })
})

for (const name of PROTOCOLS) {
  test(`${name}: Claude Code reads a file, edits it and reports it`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'turnpike-claude-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const native = NATIVES[name] ?? assert.fail()
    const path = join(folder, 'hello.txt')
    await writeFile(path, 'Old words.')
    const read = { id: 'call_1', name: 'Read', input: { file_path: path } }
    const write = { id: 'call_2', name: 'Write', input: { file_path: path, content: 'Hello from a test.' } }
    const steps: readonly Said[] = [
      { reasoning: 'I must read.', text: ['I read it.'], calls: [read] },
      { text: ['I edit it.'], calls: [write] },
      { text: ['It is written.'] },
    ]
    const bodies: string[] = []
    provider.answer((asked, reply) => {
      bodies.push(asked.body)
      const results = asked.body.match(/"type":"tool_result"|"functionResponse":|"role":"tool"/g) ?? []
      const said = steps[results.length] ?? assert.fail('too many results')
      return answerNative(native, { ...said, promptTokens: 20_000, completionTokens: 20 })(asked, reply)
    })
    const key = await gateway.key()
    const before = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: name,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: name,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }
    const args = ['-p', 'Greet in hello.txt.', '--allowedTools', 'Write', '--output-format', 'json']
    const running = run(program, args, { cwd: folder, env, timeout: 300_000 })
    running.child.stdin?.end()
    const { stdout } = await running
    const result = JSON.parse(stdout)
    assert.deepEqual([result.is_error, result.result], [false, 'It is written.'], stdout)
    assert.equal(await readFile(path, 'utf8'), 'Hello from a test.')
    assert.ok(bodies.length >= steps.length)
    assert.ok(bodies.some((body) => body.includes('Old words.')))
    const rows = await checkRows(gateway, key, bodies.length, new Set(before.map(({ id }) => id)))
    for (const { status, api, cost_usd: cost } of rows) {
      assert.deepEqual([status, api, cost], ['completed', 'messages', 0.02004])
    }
  })
}

test('turnpike setup claude configures Claude Code, which reads the key from the environment', async (t) => {
  const own = makeHome()
  t.after(own.remove)
  const words = ['setup', 'claude', '--write', '--yes', '--url', gateway.url, '--model', 'azure']
  const { code, stderr } = await own.run(words)
  assert.equal(code, 0, stderr)
  const root = dirname(dirname(own.folder))
  const settings = await readFile(join(root, '.claude', 'settings.json'), 'utf8')
  const key = await gateway.key()
  assert.ok(!settings.includes(key))
  provider.answer(answerNative(NATIVES['azure'] ?? assert.fail(), { text: ['Hello.'] }))
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: root,
    TURNPIKE_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  const running = run(program, ['-p', 'Say hello.', '--output-format', 'json'], { cwd: root, env, timeout: 300_000 })
  running.child.stdin?.end()
  const { stdout } = await running
  const result = JSON.parse(stdout)
  assert.deepEqual([result.is_error, result.result], [false, 'Hello.'], stdout)
})
