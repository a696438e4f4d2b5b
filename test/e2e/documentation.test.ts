/**
 * The code of README.md, CONTRIBUTING.md and docs/, run as it stands there, on one gateway: shell with the Node.js and npm
 * of this machine (20 or newer), JavaScript on that and on the bundled one, YAML by `config check`, JSON by its parser.
 * What cannot run is in `NOT_RUN`, with the reason. Runs on one database.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { type Block, documentedBlocks, MACHINE_PATH } from '../support/http/documentation.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** By document and beginning: why a block is not run here. */
const NOT_RUN: readonly (readonly [file: string, begins: string, why: string])[] = [
  ['README.md', 'npm ci && npm start', 'the gate runs npm ci in a clean clone; serve does not end'],
  ['README.md', 'OPENAI_API_KEY=', 'serve does not end'],
  ['README.md', 'npm run -s turnpike -- login', 'a person approves: test/e2e/command-line.test.ts'],
  ['README.md', 'from openai import', 'a package of PyPI, which the install does not bring'],
  ['CONTRIBUTING.md', 'npm ci  ', 'this is what runs the tests'],
  ['CONTRIBUTING.md', 'npm run new:provider', 'changes the project: scripts/new-provider.test.ts; record needs a key'],
  ['CONTRIBUTING.md', 'node_modules/.bin/node --test', 'runs tests itself'],
  ['docs/agents.md', 'curl http://localhost:7575/v1/agents ', 'needs a repository: test/e2e/agents.test.ts'],
  ['docs/agents.md', 'curl http://localhost:7575/v1/agents/', 'needs an agent: test/e2e/agents.test.ts'],
  ['docs/agents.md', 'curl -N', 'needs an agent: test/e2e/agents.test.ts'],
  ['docs/command-line.md', 'turnpike login', 'a person approves: test/e2e/command-line.test.ts'],
  ['docs/command-line.md', 'git diff', 'needs changes in a repository: src/cli/remote/chat.test.ts'],
  ['docs/dashboard.md', 'npm run build:dashboard', 'npm ci builds; vite does not end'],
  [
    'docs/configuration.md',
    'turnpike config check',
    'needs the file and the service of the reader: src/cli/config.test.ts',
  ],
  ['docs/credit.md', 'MINUTES=8', 'sixteen minutes of faults: test/faults/money-simulator.test.ts'],
  ['docs/devices.md', 'curl http://localhost:7575/oauth/token', 'a person approves: test/e2e/device-flow.test.ts'],
  ['docs/idempotency.md', 'await client', 'a line of a program'],
  ['docs/idempotency.md', 'client.chat', 'a line of a program'],
  ['docs/invoices.md', 'curl', 'no month has been closed: src/features/invoices'],
  ['docs/models.md', 'npm run -s catalogue:check', 'downloads collections and saves them in the project'],
  ['docs/operations.md', 'scrape_configs:', 'settings of Prometheus'],
  ['docs/operations.md', 'turnpike backup', 'writes to /backups: src/cli/backup.test.ts'],
  ['docs/operations.md', 'create role', 'needs a PostgreSQL server of its own: src/cli/migrate.test.ts'],
  ['docs/operations.md', 'export DATABASE_URL', 'needs a PostgreSQL server of its own: src/cli/migrate.test.ts'],
  ['docs/operations.md', 'kill -TERM', 'needs a PostgreSQL server of its own: src/cli/migrate.test.ts'],
  ['docs/providers.md', 'npm run -s new:provider', 'changes the project: scripts/new-provider.test.ts'],
  ['docs/providers.md', 'EXAMPLEHOST_API_KEY', "calls the host's real address: scripts/record.test.ts"],
  ['docs/providers.md', 'TURNPIKE_RECORDINGS', 'runs these tests'],
  [
    'docs/providers.md',
    'npm run -s catalogue:check',
    'asks addresses of the Internet: scripts/kit/catalogue-findings.test.ts',
  ],
  ['docs/usage.md', 'curl -N', 'does not end: src/features/usage/completion-stream.test.ts'],
  ['docs/webhooks.md', 'import { createServer }', 'test/e2e/webhooks/page.test.ts runs it'],
  ['docs/webhooks.md', 'import base64', 'test/e2e/webhooks/page.test.ts runs it'],
  ['docs/webhooks.md', 'package webhook', 'no compiler for it among the tools of the tests'],
  ['docs/webhooks.md', 'require "json"', 'no interpreter for it among the tools of the tests'],
  ['docs/webhooks.md', 'turnpike webhooks', 'needs a receiver: test/e2e/webhooks-cli.test.ts'],
  ['docs/webhooks.md', 'TURNPIKE_WEBHOOK_SECRET=', 'does not end: test/e2e/webhooks/page.test.ts'],
]
const RUN = new Set(['sh', 'bash', 'js', 'python', 'ts', 'sql', 'go', 'ruby'])
const isNotRun = ({ file, text }: Block) => NOT_RUN.some(([of, begins]) => of === file && text.startsWith(begins))

const blocks = documentedBlocks()
const where = ({ file, line, language }: Block): string => `${file}:${line} (${language})`
const runnable = blocks.filter((block) => RUN.has(block.language) && !isNotRun(block))

const folder = mkdtempSync(join(tmpdir(), 'turnpike-documentation-'))
const CODER = { id: 'our-coder', context_window: 131_072, pricing: { input_per_million: 1, output_per_million: 2 } }
const config = {
  providers: {
    simulator: { protocol: 'simulator' },
    impatient: { protocol: 'simulator', timeout_ms: { first_byte: 2_000, idle: 2_000, total: 5_000 } },
  },
  models: [
    { ...CODER, deployments: [{ provider: 'simulator', model: 'turnpike-simulator' }] },
    { ...CODER, id: 'impatient', deployments: [{ provider: 'impatient', model: 'turnpike-simulator' }] },
  ],
  routing: { max_attempts: 1 },
}
const gateway = await startGateway({ config })
const key = await gateway.key()
const account = await gateway.cli('accounts', 'create', '--name', 'documented')
after(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true })
})

interface Ended {
  readonly code: number
  readonly output: string
}

function run(command: string, words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const own = {
    PATH: [join(folder, 'bin'), MACHINE_PATH].join(delimiter),
    HOME: folder,
    NO_COLOR: '1',
    TURNPIKE_API_KEY: key,
    TURNPIKE_URL: gateway.url,
    TURNPIKE_DATA_DIR: gateway.dataDir,
    TURNPIKE_CONFIG: join(folder, 'turnpike.yaml'),
    ROOT,
  }
  return new Promise((resolve) => {
    execFile(command, words, { cwd: folder, env: { ...own, ...env }, timeout: 120_000 }, (error, out, errors) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: out + errors }),
    )
  })
}

/** What readers have: the program by its name, a curl that fails where the answer is an error, the package's scripts. */
function makeTools(): void {
  mkdirSync(join(folder, 'bin'))
  const programs = {
    turnpike: `exec npm --prefix "$ROOT" run -s turnpike -- "$@"`,
    curl: `PATH=$(echo "$PATH" | sed 's|^[^:]*:||') exec curl --silent --show-error --fail-with-body "$@"`,
  }
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${line}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'turnpike.yaml'), JSON.stringify(config))
  writeFileSync(join(folder, 'body.json'), '{}')
  writeFileSync(join(folder, 'service-account.json'), '{}')
}

/** The reader's own address, key and IDs instead of those of the page. */
function asReaders(text: string): string {
  return text
    .replaceAll('http://localhost:7575', gateway.url)
    .replaceAll('tp_…', key)
    .replaceAll('acc_…', account)
    .replaceAll('npm run -s turnpike', `npm --prefix "$ROOT" run -s turnpike`)
}

makeTools()
const { output: machineNode } = await run('node', ['--version'])

for (const block of runnable.filter(({ language }) => language === 'sh' || language === 'bash')) {
  test(`${where(block)} runs on Node.js ${machineNode.trim()}`, async () => {
    const { code, output } = await run('sh', ['-e', '-c', asReaders(block.text)], { TURNPIKE_WEBHOOK_SECRET: 'x' })
    assert.equal(code, 0, output)
  })
}

for (const block of runnable.filter(({ language }) => language === 'js')) {
  test(`${where(block)} runs on Node.js ${machineNode.trim()} and ${process.version}`, async () => {
    const file = join(folder, 'page.mjs')
    writeFileSync(file, asReaders(block.text))
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
    const { code, output } = await run('turnpike', ['config', 'check', join(folder, 'page.yaml')], {
      ...Object.fromEntries(variables),
    })
    assert.equal(code, 0, output)
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
        body: JSON.stringify({ model: 'impatient', stream: isStream, messages }),
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

test('every JSON block is JSON', () => {
  const found = blocks.filter(({ language }) => language === 'json')
  assert.ok(found.length > 30 && ROWS.length > 8)
  for (const block of found) assert.doesNotThrow(() => JSON.parse(block.text), where(block))
})

test('every block is of a kind that is known here, and what is not run is there', () => {
  const KNOWN = new Set([...RUN, 'yaml', 'json', 'text', ''])
  assert.deepEqual(blocks.filter(({ language }) => !KNOWN.has(language)).map(where), [])
  const others = runnable.filter(({ language }) => !['sh', 'bash', 'js'].includes(language))
  assert.deepEqual(others.map(where), [], 'nothing runs these: say why in NOT_RUN')
  const stale = NOT_RUN.filter(
    ([file, begins]) => !blocks.some((block) => block.file === file && block.text.startsWith(begins)),
  )
  assert.deepEqual(stale, [])
})
