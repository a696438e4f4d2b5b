/**
 * Codex, as its users run it, on providers of three protocols: it reads and edits a file, and each call is one row. Runs
 * on one database: it is about the wire, and the rows are those of the Responses API.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { checkRows, everyRow, type UsageRow } from '../support/ledger/money.ts'
import { npmClient } from '../support/process/npm-client.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, NATIVES, nativeProviders, type Said } from '../support/providers/native-answers.ts'

const CODEX = '@openai/codex@0.169.0'
const PROTOCOLS = ['azure', 'anthropic', 'google'] as const
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
  const args = [program, 'exec', ...flags, ...settings.flatMap((setting) => ['-c', setting]), 'Greet in hello.txt.']
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, CODEX_HOME: home, TURNPIKE_API_KEY: await gateway.key() }
  const running = run(process.execPath, args, { cwd: folder, env, timeout: 300_000 })
  running.child.stdin?.end()
  const { stdout } = await running
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const PATCH = `apply_patch <<'EOF'
*** Begin Patch
*** Update File: hello.txt
@@
-Old words.
+Hello from a test.
*** End Patch
EOF`
const command = (id: string, cmd: string) => ({ id, name: 'exec_command', input: { cmd } })
/** One for each call: the results in its conversation say which. */
const STEPS: readonly Said[] = [
  { reasoning: 'I must read.', text: ['I read it.'], calls: [command('call_1', 'cat hello.txt')] },
  { text: ['I edit it.'], calls: [command('call_2', PATCH)] },
  { text: ['It is written.'] },
]

/** Reads and edits the file with the shell that Codex offers, then says so. @returns the bodies of its calls. */
function answerWithEdit(name: string): readonly string[] {
  const native = NATIVES[name] ?? assert.fail()
  const bodies: string[] = []
  provider.answer((asked, reply) => {
    bodies.push(asked.body)
    const results = asked.body.match(/"type":"tool_result"|"functionResponse":|"role":"tool"/g) ?? []
    const said = STEPS[results.length] ?? assert.fail('too many results')
    return answerNative(native, { ...said, promptTokens: 12_000, completionTokens: 20 })(asked, reply)
  })
  return bodies
}

async function folderWithFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-codex-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'hello.txt'), 'Old words.\n')
  return folder
}

for (const name of PROTOCOLS) {
  test(`${name}: Codex reads a file, edits it and reports it`, async (t) => {
    const folder = await folderWithFile(t)
    const bodies = answerWithEdit(name)
    const key = await gateway.key()
    const before = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
    const events = await codex(folder, name, 'env_key="TURNPIKE_API_KEY"')
    assert.equal(await readFile(join(folder, 'hello.txt'), 'utf8'), 'Hello from a test.\n', JSON.stringify(events))
    const messages = events.flatMap(({ item }) => (item?.type === 'agent_message' ? [item.text] : []))
    assert.equal(messages.at(-1), 'It is written.')
    assert.deepEqual([events.at(-1)?.type, events.some(({ type }) => type === 'error')], ['turn.completed', false])
    assert.equal(bodies.length, STEPS.length)
    assert.match(bodies[1] ?? '', /Old words\./)
    const rows = await checkRows(gateway, key, bodies.length, new Set(before.map(({ id }) => id)))
    for (const { status, api, cost_usd: cost } of rows) {
      assert.deepEqual([status, api, cost], ['completed', 'responses', 0.01204])
    }
  })
}

test('Codex that may list models knows their context windows, and does not warn', async (t) => {
  const folder = await folderWithFile(t)
  answerWithEdit('azure')
  const events = await codex(folder, 'azure', 'auth={command="printenv", args=["TURNPIKE_API_KEY"]}')
  assert.equal(await readFile(join(folder, 'hello.txt'), 'utf8'), 'Hello from a test.\n', JSON.stringify(events))
  assert.deepEqual(
    events.filter(({ item }) => item?.type === 'error'),
    [],
  )
  const { text } = await send(gateway, '/v1/models?client_version=0.169.0', { key: await gateway.key() })
  const listed = JSON.parse(text).models.find(({ slug }: { readonly slug: string }) => slug === 'azure')
  assert.equal(listed.context_window, 200_000)
})
