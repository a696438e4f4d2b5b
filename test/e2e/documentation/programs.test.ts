/**
 * The blocks of the pages that need something beside a gateway: a file, an answer, a month that has ended, a client of
 * Python. Runs on one database: it is about what is written.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { AccountId } from '../../../src/domain/ids.ts'
import { closeInvoices } from '../../../src/features/invoices/close.ts'
import { CHAT, eventually, send } from '../../support/client.ts'
import { openLocation, testIds } from '../../support/database.ts'
import { startGateway } from '../../support/gateway.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'
import { startReceiver } from '../../support/otlp/receiver.ts'
import { freePort } from '../../support/process/free-port.ts'
import { CLIENT_PACKAGES, pythonWith } from '../../support/process/python-environment.ts'

const gateway = await startGateway()
const account = (await gateway.cli('accounts', 'create', '--name', 'documented')) as AccountId
await gateway.cli('credits', 'grant', '--account', account, '--usd', '25')
const key = await gateway.key('--account', account)
const words: Record<string, string> = {}
const reader = makeReader({ gateway, key, words })
after(async () => {
  reader.remove()
  await gateway.stop()
})

async function succeeds(text: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, output } = await reader.sh(text, env)
  assert.equal(code, 0, output)
  return output
}

const PROGRAMS = { bundled: process.execPath, machine: 'node' } as const
const BODY = { model: 'turnpike-simulator', messages: [{ role: 'user', content: 'Hello!' }] }

/** Starts what a block starts, on data of its own, until `use` has ended. @param use Gets its address and its first key. */
async function whileServed(block: string, use: (at: { url: string; key: string }) => Promise<void>): Promise<void> {
  const port = String(await freePort())
  const data = mkdtempSync(join(reader.folder, 'data-'))
  const served = reader.start(block, { PORT: port, HOST: '127.0.0.1', TURNPIKE_DATA_DIR: data })
  const url = `http://127.0.0.1:${port}`
  try {
    await served.printed(/is listening|Turnpike \d/)
    const isReady = () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually(isReady, Boolean, 60_000)
    const [first] = await served.printed(/tp_[0-9A-Za-z]{46}/)
    await use({ url, key: first })
  } finally {
    await served.stop()
  }
}

for (const [page, expected] of [
  ['README.md', ['openai', 'deepseek']],
  ['docs/quick-start.md', ['openai']],
] as const) {
  test(`${page}: keys in the environment enable providers`, async () => {
    const block = blockOf(page, 'OPENAI_API_KEY=').text.replace('npm start', 'npm --prefix "$ROOT" start')
    await whileServed(block, async ({ url, key: first }) => {
      const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${first}` } })
      const { data } = (await models.json()) as { readonly data: readonly { readonly owned_by: string }[] }
      const owners = new Set(data.map((each) => each.owned_by))
      for (const owner of expected) assert.ok(owners.has(owner), [...owners].join(' '))
    })
  })
}

test('docs/observability.md: a gateway that is started so sends its traces', async () => {
  const receiver = await startReceiver((close) => after(close))
  const block = blockOf('docs/observability.md', 'OTEL_EXPORTER_OTLP_ENDPOINT').text
  await whileServed(block.replace('http://localhost:4318', receiver.url), async ({ url, key: first }) => {
    const headers = { authorization: `Bearer ${first}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${CHAT}`, { method: 'POST', headers, body: JSON.stringify(BODY) })
    assert.equal(answer.status, 200, await answer.text())
    await eventually(
      async () => receiver.spans.length,
      (count) => count > 0,
      60_000,
    )
    assert.deepEqual(receiver.problems, [])
  })
})

test('docs/migrating.md: a configuration of LiteLLM is imported, and passes the check', async () => {
  const folder = mkdtempSync(join(reader.folder, 'migrating-'))
  const model = 'model_name: fast, litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY }'
  writeFileSync(join(folder, 'config.yaml'), `model_list: [{ ${model} }]\n`)
  const block = blockOf('docs/migrating.md', 'turnpike import').text
  assert.match(await succeeds(`cd '${folder}'\n${block}`, { OPENAI_API_KEY: 'sk-x' }), /turnpike\.yaml: ok/)
  assert.match(readFileSync(join(folder, 'turnpike.yaml'), 'utf8'), /id: fast/)
})

test('README.md and docs/idempotency.md: the Python client', async () => {
  const python = await pythonWith(CLIENT_PACKAGES)
  const readme = reader.own(blockOf('README.md', 'from openai import').text)
  const line = blockOf('docs/idempotency.md', 'client.chat').text
  const setUp = `import uuid\nbody = {"model": "turnpike-simulator", "messages": [{"role": "user", "content": "Hi"}]}\n`
  writeFileSync(join(reader.folder, 'page.py'), `${readme}\n${setUp}print((${line}).id)\n`)
  const { code, output } = await reader.run(python, [join(reader.folder, 'page.py')])
  assert.equal(code, 0, output)
  assert.match(output, /CompletionUsage\([\s\S]*chatcmpl-/)
})

const SETUPS = [
  ['docs/clients/aider.md', 'openai-api-base', '.aider.conf.yml'],
  ['docs/clients/claude-code.md', '{', '.claude/settings.json'],
  ['docs/clients/codex.md', 'model =', '.codex/config.toml'],
  ['docs/clients/opencode.md', '{', '.config/opencode/opencode.json'],
] as const

for (const [file, settings, path] of SETUPS) {
  test(`${file}: the command writes the file that the page prints`, async () => {
    const { text } = blockOf(file, 'turnpike setup')
    const [command = '', exported = '', client = ''] = text.split('\n')
    assert.match(exported, /^export TURNPIKE_API_KEY=tp_/)
    assert.match(client, /^(?:OPENAI_API_KEY="\$TURNPIKE_API_KEY" )?\w+$/, 'starts the client, which is not installed')
    await succeeds(`${command.replace('--write', '--write --yes')}\n${exported}`)
    const written = readFileSync(join(reader.folder, path), 'utf8')
    const printed = reader.own(blockOf(file, settings).text)
    if (path.endsWith('.json')) assert.deepEqual(JSON.parse(written), JSON.parse(printed))
    else assert.equal(written.trim(), printed.trim())
  })
}

for (const [name, program] of Object.entries(PROGRAMS)) {
  test(`docs/idempotency.md: the JavaScript client on the ${name} Node.js`, async () => {
    const line = blockOf('docs/idempotency.md', 'await client').text
    const page = `import OpenAI from 'openai'
      const client = new OpenAI({ baseURL: ${JSON.stringify(`${gateway.url}/v1`)}, apiKey: ${JSON.stringify(key)} })
      const body = ${JSON.stringify(BODY)}
      ${line.replace('await client', 'const answer = await client')}
      console.log(answer.id)`
    writeFileSync(join(reader.folder, 'line.mjs'), page)
    const { code, output } = await reader.run(program, [join(reader.folder, 'line.mjs')])
    assert.equal(code, 0, output)
    assert.match(output, /^chatcmpl-/)
  })
}

test('CONTRIBUTING.md: one test file runs by itself', async () => {
  const [single = '', ...others] = blockOf('CONTRIBUTING.md', 'node_modules/.bin/node --test').text.split('\n')
  assert.ok(
    others.every((line) => /^(SEED=\d+ MINUTES=\d+ )?npm (run )?test/.test(line)),
    'the others run these tests',
  )
  assert.match(await succeeds(`cd "$ROOT"; unset NODE_TEST_CONTEXT; ${single}`), /^ℹ fail 0$|^# fail 0$/m)
})

test('docs/command-line.md: what a command prints is a question, the answer a file', async () => {
  const repository = 'git init -q . && echo one > file && git add file && echo two >> file'
  await succeeds(`mkdir repository && cd repository && ${repository}
    ${blockOf('docs/command-line.md', 'git diff').text}
    test -s message.txt`)
})

test('docs/configuration.md: the file is checked, its schema printed, and the service reads it again', async () => {
  const block = blockOf('docs/configuration.md', 'turnpike config check').text
  const output = await succeeds(block.replaceAll(' turnpike.yaml', ' "$TURNPIKE_CONFIG"'))
  assert.match(output, /"\$schema"/)
  assert.match(output, /reload/i)
})

test('docs/invoices.md: invoices of a month that has ended', async () => {
  const completion = await send(gateway, CHAT, { key, body: BODY })
  assert.equal(completion.status, 200, completion.text)
  const { db, close } = await openLocation(gateway.database)
  try {
    const nextMonth = () => Date.now() + 40 * 86_400_000
    await eventually(
      () => closeInvoices({ db, ids: testIds, now: nextMonth }),
      (count) => count > 0,
    )
    const { id } = await db
      .selectFrom('invoice')
      .select('id')
      .where('account_id', '=', account)
      .executeTakeFirstOrThrow()
    const page = blockOf('docs/invoices.md', 'curl').text.replace('inv_…', id)
    assert.ok((await succeeds(`${page}\ncat invoice.html`)).includes('<html'), 'an HTML page')
  } finally {
    await close()
  }
})

test('docs/models.md and docs/providers.md: the catalogue is checked against the stored collections', async () => {
  const lines = blockOf('docs/models.md', 'npm run -s catalogue:check').text.split('\n')
  const offline = lines.filter((line) => !line.includes('--fetch')) // those download
  assert.equal(offline.length, 2)
  const other = blockOf('docs/providers.md', 'npm run -s catalogue:check').text
  for (const line of [...offline, other]) await succeeds(`cd "$ROOT"; ${line}`)
})

test('docs/usage.md: completions that failed are followed as they end', async () => {
  const followed = reader.start(blockOf('docs/usage.md', 'curl -N').text)
  try {
    const failing = { ...BODY, messages: [{ role: 'user', content: 'simulate: error 500' }] }
    // Until the stream is open, completions end unseen.
    const seen = async () => {
      await send(gateway, CHAT, { key, body: failing })
      return followed.output()
    }
    await eventually(seen, (text) => /^event: completion/m.test(text), 60_000)
  } finally {
    await followed.stop()
  }
})
