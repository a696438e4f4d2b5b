/**
 * The code of README.md, CONTRIBUTING.md and docs/, run as it stands there, on one gateway: shell with the Node.js and npm
 * of this machine (20 or newer), JavaScript on that and on the bundled one, YAML by `config check`. What needs more runs
 * in `documentation/`; what cannot run is in `NOT_RUN`, with the reason. All of it is read by the parser of its language,
 * commands in transcripts by the command line; what is no code is in `TEXTS`. Runs on one database.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseDocument } from 'yaml'
import { findTool } from '../../scripts/kit/machine-tools.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { startGateway } from '../support/gateway.ts'
import { type Block, documentedBlocks } from '../support/http/documentation.ts'
import { makeReader, ROOT } from '../support/http/reader.ts'
import { runCommandHere } from '../support/process/command-in-process.ts'
import { printedIn } from '../support/process/printed-commands.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

// README.md and docs/operations.md run `turnpike doctor`, which fails on a machine that cannot run agents.
for (const tool of ['git', 'bubblewrap', 'curl', 'python'] as const) findTool(tool)

/** By document and beginning: blocks that need more than a gateway, and the test that runs them as they stand. */
const RUN_ELSEWHERE: readonly (readonly [file: string, begins: string, test: string])[] = [
  ['README.md', 'npm ci && npm start', 'test/e2e/clean-clone.test.ts'],
  ['docs/quick-start.md', 'npm ci && npm start', 'test/e2e/clean-clone.test.ts'],
  ['CONTRIBUTING.md', 'npm run new:provider', 'test/e2e/clean-clone.test.ts'],
  ['docs/dashboard.md', 'npm run build:dashboard', 'test/e2e/clean-clone.test.ts'],
  ['docs/providers.md', 'npm run -s new:provider', 'test/e2e/clean-clone.test.ts'],
  ['README.md', 'OPENAI_API_KEY=', 'test/e2e/documentation/programs.test.ts'],
  ['README.md', 'from openai import', 'test/e2e/documentation/programs.test.ts'],
  ['CONTRIBUTING.md', 'node_modules/.bin/node --test', 'test/e2e/documentation/programs.test.ts'],
  ['docs/agents.md', 'curl http://localhost:7575/v1/agents ', 'test/e2e/documentation/agents.test.ts'],
  ['docs/agents.md', 'curl http://localhost:7575/v1/agents/', 'test/e2e/documentation/agents.test.ts'],
  ['docs/agents.md', 'curl -N', 'test/e2e/documentation/agents.test.ts'],
  ['docs/agents.md', 'curl -X POST', 'test/e2e/documentation/agents.test.ts'],
  ['README.md', 'npm run -s turnpike -- login', 'test/e2e/documentation/devices.test.ts'],
  ['docs/clients/aider.md', 'openai-api-base', 'test/e2e/documentation/programs.test.ts'],
  ['docs/clients/aider.md', 'turnpike setup', 'test/e2e/documentation/programs.test.ts'],
  ['docs/clients/claude-code.md', 'turnpike setup', 'test/e2e/documentation/programs.test.ts'],
  ['docs/clients/codex.md', 'turnpike setup', 'test/e2e/documentation/programs.test.ts'],
  ['docs/clients/opencode.md', 'turnpike setup', 'test/e2e/documentation/programs.test.ts'],
  ['docs/clients/ai-sdk.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/anthropic-sdks.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/continue.md', 'name: Turnpike', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/langchain.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/llamaindex.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/llm.md', '- model_id', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/llm.md', 'llm keys', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/openai-sdks.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/openrouter.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/clients/pydantic-ai.md', 'import', 'test/e2e/documentation/clients.test.ts'],
  ['docs/command-line.md', 'turnpike login', 'test/e2e/documentation/devices.test.ts'],
  ['docs/command-line.md', 'git diff', 'test/e2e/documentation/programs.test.ts'],
  ['docs/configuration.md', 'turnpike config check', 'test/e2e/documentation/programs.test.ts'],
  ['docs/content-capture.md', 'curl -X PUT', 'test/e2e/guardrails.test.ts'],
  ['docs/content-capture.md', 'curl -s', 'test/e2e/guardrails.test.ts'],
  ['docs/deploy/kubernetes.md', '# values.yaml', 'test/e2e/documentation/deploy.test.ts'],
  ['docs/deploy/upgrades.md', 'pg_basebackup', 'test/faults/postgres-restore.test.ts'],
  ['docs/deploy/upgrades.md', 'pg_dump', 'test/faults/postgres-restore.test.ts'],
  ['docs/devices.md', 'curl http://localhost:7575/device/code', 'test/e2e/documentation/devices.test.ts'],
  ['docs/devices.md', 'curl http://localhost:7575/oauth/token', 'test/e2e/documentation/devices.test.ts'],
  ['docs/embeddings.md', 'curl http://localhost:7575/v1/embeddings', 'test/e2e/embeddings.test.ts'],
  ['docs/embeddings.md', 'curl http://localhost:7575/v1/rerank', 'test/e2e/rerank.test.ts'],
  ['docs/guardrails.md', 'curl http://localhost:7575/v1/guardrails', 'test/e2e/guardrails.test.ts'],
  ['docs/idempotency.md', 'await client', 'test/e2e/documentation/programs.test.ts'],
  ['docs/idempotency.md', 'client.chat', 'test/e2e/documentation/programs.test.ts'],
  ['docs/invoices.md', 'curl', 'test/e2e/documentation/programs.test.ts'],
  ['docs/migrating.md', 'turnpike import', 'test/e2e/documentation/programs.test.ts'],
  ['docs/models.md', 'npm run -s catalogue:check', 'test/e2e/documentation/programs.test.ts'],
  ['docs/observability.md', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'test/e2e/documentation/programs.test.ts'],
  ['docs/operations.md', 'scrape_configs:', 'test/e2e/grafana.test.ts'],
  ['docs/operations.md', 'turnpike backup', 'test/e2e/documentation/databases.test.ts'],
  ['docs/operations.md', 'create role', 'test/e2e/documentation/databases.test.ts'],
  ['docs/operations.md', 'export DATABASE_URL', 'test/e2e/documentation/databases.test.ts'],
  ['docs/operations.md', 'kill -TERM', 'test/e2e/documentation/databases.test.ts'],
  ['docs/providers.md', 'npm run -s catalogue:check', 'test/e2e/documentation/programs.test.ts'],
  ['docs/quick-start.md', 'OPENAI_API_KEY=', 'test/e2e/documentation/programs.test.ts'],
  ['docs/usage.md', 'curl -N', 'test/e2e/documentation/programs.test.ts'],
  ['docs/webhooks.md', 'import { createServer }', 'test/e2e/documentation/webhooks.test.ts'],
  ['docs/webhooks.md', 'import base64', 'test/e2e/webhooks/page.test.ts'],
  ['docs/webhooks.md', 'package webhook', 'test/e2e/documentation/webhooks.test.ts'],
  ['docs/webhooks.md', 'require "json"', 'test/e2e/documentation/webhooks.test.ts'],
  ['docs/webhooks.md', 'turnpike webhooks listen', 'test/e2e/documentation/webhooks.test.ts'],
  ['docs/webhooks.md', 'TURNPIKE_WEBHOOK_SECRET=', 'test/e2e/documentation/webhooks.test.ts'],
  ['docs/webhooks.md', 'turnpike webhooks trigger', 'test/e2e/documentation/webhooks.test.ts'],
]
/** Runs what it can of a block, and compares the rest with the files of the project. */
const COMPARED = 'test/e2e/documentation/deploy.test.ts'
/** By document and beginning: why no test runs a block as it stands. */
const NOT_RUN: readonly (readonly [file: string, begins: string, why: string])[] = [
  ['docs/clients/cline.md', 'cline auth', 'a program of 430 MB; tried by hand: it writes its settings'],
  ['docs/deploy/docker.md', 'cd deploy/compose', `needs a container engine: ${COMPARED}`],
  ['docs/deploy/docker.md', 'docker build', `needs a container engine: ${COMPARED}`],
  ['docs/deploy/docker.md', 'docker exec', `needs a container engine, its commands do not: ${COMPARED}`],
  ['docs/deploy/kubernetes.md', 'kubectl create', `needs a cluster: ${COMPARED}`],
  ['docs/deploy/kubernetes.md', 'rules:', `settings of prometheus-adapter: ${COMPARED}`],
  ['docs/deploy/systemd.md', 'sudo npm', `a sandbox has no npm install and no systemd that starts: ${COMPARED}`],
  ['docs/deploy/systemd.md', 'sudo systemd-run', `needs a systemd that runs, its command does not: ${COMPARED}`],
  ['docs/exports.md', 'CREATE SECRET', 'credentials for S3; on a folder: src/features/exports/exports.test.ts'],
  ['docs/exports.md', 'SELECT team_id', 'of ClickHouse, a server that is not installed, and credentials for S3'],
  ['docs/releasing.md', 'npm run build', 'packs a release, and starts it: scripts/packages.test.ts'],
  ['CONTRIBUTING.md', 'npm ci  ', 'this is what runs the tests'],
  ['docs/benchmarks.md', 'npm run bench', 'minutes of load on all cores: bench/report.test.ts'],
  ['docs/credit.md', 'MINUTES=8', 'sixteen minutes of faults: test/faults/money-simulator.test.ts'],
  ['docs/providers.md', 'EXAMPLEHOST_API_KEY', "calls the host's real address: scripts/record.test.ts"],
  ['docs/providers.md', 'TURNPIKE_RECORDINGS', 'runs these tests, with recordings of a host'],
]
const RUN = new Set(['sh', 'bash', 'js', 'python', 'ts', 'sql', 'go', 'ruby'])
/** By document: what its blocks without a language are. */
const TEXTS: Readonly<Record<string, string>> = {
  'README.md': 'a picture',
  'docs/agents.md': 'events',
  'docs/command-line.md': 'transcripts',
  'docs/configuration.md': 'messages',
  'docs/credit.md': 'formulas',
  'docs/deploy/upgrades.md': 'output, and settings that test/faults/postgres-restore.test.ts uses',
  'docs/exports.md': 'the name of a file',
  'docs/idempotency.md': 'events',
  'docs/models.md': 'output',
  'docs/operations.md': 'a transcript',
  'docs/providers.md': 'a header',
  'docs/routing.md': 'a header, and requests: src/features/routing, src/features/teams',
  'docs/simulator.md': 'prompts, which src/providers/simulator.test.ts sends',
  'docs/usage.md': 'formulas, CSV, events',
  'docs/webhooks.md': 'events',
}
const NOT_HERE = [...RUN_ELSEWHERE, ...NOT_RUN]
const isNotRun = ({ file, text }: Block) => NOT_HERE.some(([of, begins]) => of === file && text.startsWith(begins))

const blocks = documentedBlocks()
const where = ({ file, line, language }: Block): string => `${file}:${line} (${language})`
const runnable = blocks.filter((block) => RUN.has(block.language) && !isNotRun(block))

/** Accepts every key: for the page about keys of accounts. */
const provider = await startFakeProvider((_, reply) => {
  reply.head(200, { 'content-type': 'application/json' })
  reply.end('{"object":"list","data":[]}')
})
const CODER = { id: 'our-coder', context_window: 131_072, pricing: { input_per_million: 1, output_per_million: 2 } }
const config = {
  providers: {
    openai: { base_url: `${provider.url}/v1`, api_key: 'sk-operator' },
    simulator: { protocol: 'simulator' },
    patient: { protocol: 'simulator' },
    impatient: { protocol: 'simulator', timeout_ms: { first_byte: 2_000, idle: 2_000, total: 5_000 } },
  },
  models: [
    { ...CODER, deployments: [{ provider: 'simulator', model: 'turnpike-simulator' }] },
    { ...CODER, id: 'gpt-5.2', deployments: [{ provider: 'simulator', model: 'turnpike-simulator' }] },
    { ...CODER, id: 'patient', deployments: [{ provider: 'patient', model: 'turnpike-simulator' }] },
    { ...CODER, id: 'impatient', deployments: [{ provider: 'impatient', model: 'turnpike-simulator' }] },
  ],
  routing: { max_attempts: 1 },
  alerts: {
    smtp: { host: 'mail.example', from: 'turnpike@gateway.example' },
    recipient_domains: ['example.com'],
  },
}
const gateway = await startGateway({ config })
const key = await gateway.key('--operator')
const account = await gateway.cli('accounts', 'create', '--name', 'documented')
const reader = makeReader({
  gateway,
  key,
  config,
  words: { 'acc_…': account, 'hooks.slack.com': 'hooks.slack.example', 'sk-…': 'sk-own-key-of-the-account' },
})
const { folder, run } = reader
after(async () => {
  await gateway.stop()
  await provider.close()
  reader.remove()
})

const { output: machineNode } = await run('node', ['--version'])

for (const block of runnable.filter(({ language }) => language === 'sh' || language === 'bash')) {
  test(`${where(block)} runs on Node.js ${machineNode.trim()}`, async () => {
    const { code, output } = await reader.sh(block.text, { TURNPIKE_WEBHOOK_SECRET: 'x' })
    assert.equal(code, 0, output)
  })
}

for (const block of runnable.filter(({ language }) => language === 'js')) {
  test(`${where(block)} runs on Node.js ${machineNode.trim()} and ${process.version}`, async () => {
    const file = join(folder, 'page.mjs')
    writeFileSync(file, reader.own(block.text))
    for (const program of ['node', process.execPath]) {
      const { code, output } = await run(program, [file])
      assert.equal(code, 0, output)
    }
  })
}

for (const block of blocks.filter((each) => each.language === 'yaml' && !isNotRun(each))) {
  test(`${where(block)} passes config check`, async () => {
    const variables = [...block.text.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = '']) => [name, 'x'] as const)
    writeFileSync(join(folder, 'page.yaml'), block.text)
    const env = reader.environment(Object.fromEntries(variables))
    const words = ['config', 'check', join(folder, 'page.yaml')]
    const { code, out, error } = await runCommandHere(words, { cwd: folder, env })
    assert.equal(code, 0, out + error)
  })
}

/** Commands of the dashboard that need more than a gateway, and where they run. */
const OF_DASHBOARD_ELSEWHERE: readonly (readonly [begins: string, where: string])[] = [
  ['login', 'test/e2e/device-flow.test.ts'],
  ['provider-credentials add', 'nowhere: it asks for a secret, and the real provider whether it is valid'],
  ['webhooks', 'test/e2e/webhooks-cli.test.ts'],
]

const ofDashboard = new Set(
  printedIn('dashboard/src/**/*.tsx')
    .map(({ command }) => command)
    .filter((command) => !OF_DASHBOARD_ELSEWHERE.some(([begins]) => command.startsWith(begins))),
)

for (const command of ofDashboard) {
  test(`F20: the dashboard prints 'turnpike ${command}', which runs`, async () => {
    if (command === 'chat') {
      const { code, output } = await reader.sh('echo "Say hello." | turnpike chat')
      return assert.equal(code, 0, output)
    }
    const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word)
    // What stands for the name of a provider is one that there is.
    const own = words.map((word) => (word === 'providers.name' ? 'providers.patient' : word))
    const { code, out, error } = await runCommandHere(own, { cwd: folder, env: reader.environment() })
    assert.equal(code, 0, out + error)
  })
}

const SIMULATOR = readFileSync(join(ROOT, 'docs', 'simulator.md'), 'utf8')
const ROWS = [...SIMULATOR.matchAll(/^\| `(simulate: [^`]+)` \| (.+?) \| (.+?) \|$/gm)]

for (const [, directive = '', whole = '', stream = ''] of ROWS) {
  for (const [told, isStream] of [
    [whole, false],
    [stream, true],
  ] as const) {
    test(`docs/simulator.md: '${directive}', ${isStream ? 'a stream' : 'a whole answer'}: ${told}`, async () => {
      const messages = [{ role: 'user', content: `simulate: say one two three four\n${directive}` }]
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: told.includes('timeout_ms') ? 'impatient' : 'patient',
          stream: isStream,
          messages,
        }),
      })
      const text = await response.text()
      const status = /^\d{3}/.exec(told)?.[0]
      assert.equal(response.status, Number(status ?? 200), text)
      const [, code = ''] = /`(\w+)`/.exec(told) ?? []
      assert.match(text, new RegExp(`"code":"${code}"`))
      const tokens = text.match(/"delta":\{[^}]*"content":"[^"]+"/g)?.length ?? 0
      if (status === undefined)
        assert.equal(tokens, ['one', 'two', 'three'].indexOf(told.split(' ')[0] ?? '') + 1, text)
    })
  }
}

const of = (...languages: readonly string[]) => blocks.filter(({ language }) => languages.includes(language))

test('every JSON block is JSON, and every YAML block YAML', () => {
  const found = of('json')
  assert.ok(found.length > 30 && ROWS.length > 8)
  for (const block of found) assert.doesNotThrow(() => JSON.parse(block.text), where(block))
  for (const block of of('yaml')) assert.deepEqual(parseDocument(block.text).errors, [], where(block))
})

test('every shell block is shell, and every JavaScript block JavaScript', async () => {
  for (const block of of('sh', 'bash')) {
    const { code, output } = await run('bash', ['-n', '-c', block.text])
    assert.equal(code, 0, `${where(block)}: ${output}`)
  }
  for (const block of of('js', 'ts')) {
    writeFileSync(join(folder, 'syntax.mjs'), block.text)
    const { code, output } = await run(process.execPath, ['--check', join(folder, 'syntax.mjs')])
    assert.equal(code, 0, `${where(block)}: ${output}`)
  }
})

const READ_ALL = `import ast, json, sys, tomllib
for language, text in json.load(open(sys.argv[1])):
  ast.parse(text) if language == "python" else tomllib.loads(text)
`

test('every Python block is Python, and every TOML block TOML', async () => {
  const found = of('python', 'toml')
  assert.ok(found.length > 8)
  writeFileSync(join(folder, 'blocks.json'), JSON.stringify(found.map(({ language, text }) => [language, text])))
  const { code, output } = await run('python3', ['-c', READ_ALL, join(folder, 'blocks.json')])
  assert.equal(code, 0, output)
})

test('every command of a transcript is one that the command line accepts', async () => {
  const typed = of('text', '').flatMap(({ text }) => [...text.matchAll(/^\$ (?:.*\| )?turnpike (.*)$/gm)])
  assert.ok(typed.length > 5)
  for (const [line, rest = ''] of typed) {
    const words = [...rest.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain)
    const program = buildProgram('0.0.0', (message) => assert.fail(`${line}: ${message}`))
    let command = program
    for (const word of words) command = command.commands.find((each) => each.name() === word) ?? command
    let isCalled = false
    command.action(() => {
      isCalled = true
    })
    await program.parseAsync(
      words.map((word) => word.replace('agt_…', 'agt_1')),
      { from: 'user' },
    )
    assert.ok(isCalled && command !== program, line)
  }
})

test('every block is of a known kind, and the excluded ones exist', () => {
  const KNOWN = new Set([...RUN, 'yaml', 'json', 'toml', 'text', ''])
  assert.deepEqual(blocks.filter(({ language }) => !KNOWN.has(language)).map(where), [])
  const others = runnable.filter(({ language }) => !['sh', 'bash', 'js'].includes(language))
  assert.deepEqual(others.map(where), [], 'nothing runs these: add a test, or the reason')
  const texts = [...new Set(of('text', '').map(({ file }) => file))]
  assert.deepEqual(texts.sort(), Object.keys(TEXTS).sort(), 'name the language of what is code')
  const code = /^(?:npm|npx|curl|turnpike|docker|kubectl|sudo|pg_\w+|export|import|from) /m
  assert.deepEqual(
    of('text', '')
      .filter(({ text }) => code.test(text))
      .map(where),
    [],
  )
  const stale = NOT_HERE.filter(
    ([file, begins]) => !blocks.some((block) => block.file === file && block.text.startsWith(begins)),
  )
  assert.deepEqual(stale, [])
  for (const [file, begins, test] of RUN_ELSEWHERE) {
    const source = readFileSync(join(ROOT, test), 'utf8')
    assert.ok(source.includes(file), `${test} does not run ${begins} of ${file}`)
  }
})
