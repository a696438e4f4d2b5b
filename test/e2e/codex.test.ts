/** Codex, as its users run it, on providers of three protocols: it writes a file, and each of its calls is one row. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { eventually, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { everyRow, type UsageRow } from '../support/ledger/money.ts'
import { npmClient } from '../support/process/npm-client.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, NATIVES, type Said } from '../support/providers/native-answers.ts'

const CODEX = '@openai/codex@0.169.0'
const PROTOCOLS = ['azure', 'anthropic', 'google'] as const
const run = promisify(execFile)

const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    providers: Object.fromEntries(
      PROTOCOLS.map((name) => [name, { ...NATIVES[name]?.settings, base_url: `${provider.url}/${name}` }]),
    ),
    models: PROTOCOLS.map((name) => ({
      ...model(name, name, NATIVES[name]?.model ?? ''),
      context_window: 200_000,
      max_output_tokens: 32_000,
    })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
  },
})
const installed = await npmClient(CODEX)
const program = join(installed, 'node_modules/@openai/codex/bin/codex.js')
const home = await mkdtemp(join(tmpdir(), 'turnpike-codex-home-'))
after(async () => {
  await gateway.stop()
  await provider.close()
  await rm(home, { recursive: true, force: true })
})

interface CodexEvent {
  readonly type: string
  readonly message?: string
  readonly item?: { readonly type: string; readonly text?: string; readonly message?: string }
}

/** @param credential How the key reaches Codex, in its configuration. @returns the events that Codex printed. */
async function codex(folder: string, named: string, credential: string): Promise<readonly CodexEvent[]> {
  const endpoint = `{name="Turnpike", base_url="${gateway.url}/v1", wire_api="responses", ${credential}}`
  const settings = [`model="${named}"`, 'model_provider="turnpike"', `model_providers.turnpike=${endpoint}`]
  const flags = ['--skip-git-repo-check', '--json', '--dangerously-bypass-approvals-and-sandbox']
  const args = [program, 'exec', ...flags, ...settings.flatMap((setting) => ['-c', setting]), 'Write hello.txt.']
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, CODEX_HOME: home, TURNPIKE_API_KEY: await gateway.key() }
  const running = run(process.execPath, args, { cwd: folder, env, timeout: 120_000 })
  running.child.stdin?.end()
  const { stdout } = await running
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Writes the file with the shell that Codex offers, then says so. @returns how often it was called. */
function answerWithFile(name: string): () => number {
  const native = NATIVES[name] ?? assert.fail()
  const call = { id: 'call_1', name: 'exec_command', input: { cmd: 'printf "Hello from a test." > hello.txt' } }
  let calls = 0
  provider.answer((asked, reply) => {
    calls += 1
    const isOver = /tool_result|functionResponse|"role":"tool"/.test(asked.body)
    const said: Said = isOver
      ? { text: ['It is written.'] }
      : { reasoning: 'I must write.', text: ['I write it.'], calls: [call] }
    return answerNative(native, { ...said, promptTokens: 20_000, completionTokens: 20 })(asked, reply)
  })
  return () => calls
}

for (const name of PROTOCOLS) {
  test(`${name}: Codex writes a file and says so`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'turnpike-codex-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const calls = answerWithFile(name)
    const key = await gateway.key()
    const rowsOf = () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
    const before = new Set((await rowsOf()).map(({ id }) => id))
    const events = await codex(folder, name, 'env_key="TURNPIKE_API_KEY"')
    assert.equal(await readFile(join(folder, 'hello.txt'), 'utf8'), 'Hello from a test.', JSON.stringify(events))
    const messages = events.flatMap(({ item }) => (item?.type === 'agent_message' ? [item.text] : []))
    assert.equal(messages.at(-1), 'It is written.')
    assert.deepEqual([events.at(-1)?.type, events.some(({ type }) => type === 'error')], ['turn.completed', false])
    const newRows = async () => (await rowsOf()).filter(({ id }) => !before.has(id))
    const rows = await eventually(newRows, ({ length }) => length >= calls()) // the last is written after its answer
    assert.deepEqual([rows.length, calls()], [2, 2])
    for (const { status, cost_usd: cost } of rows) assert.deepEqual([status, cost > 0], ['completed', true])
  })
}

test('Codex that may list models knows their context windows, and does not warn', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-codex-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  answerWithFile('azure')
  const events = await codex(folder, 'azure', 'auth={command="printenv", args=["TURNPIKE_API_KEY"]}')
  assert.equal(await readFile(join(folder, 'hello.txt'), 'utf8'), 'Hello from a test.', JSON.stringify(events))
  assert.deepEqual(
    events.filter(({ item }) => item?.type === 'error'),
    [],
  )
  const { text } = await send(gateway, '/v1/models?client_version=0.169.0', { key: await gateway.key() })
  const listed = JSON.parse(text).models.find(({ slug }: { readonly slug: string }) => slug === 'azure')
  assert.equal(listed.context_window, 200_000)
})
