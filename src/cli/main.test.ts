import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../bin/turnpike.js', import.meta.url))
const PACKAGE = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

const cwd = mkdtempSync(join(tmpdir(), 'turnpike-cli-'))
after(() => rmSync(cwd, { recursive: true }))

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function turnpike(words: readonly string[], env: Readonly<Record<string, string>> = {}): Ended {
  const nodeWords = env['NODE_WORDS']?.split(' ') ?? []
  return spawnSync(process.execPath, [...nodeWords, PROGRAM, ...words], { cwd, encoding: 'utf8', env })
}

/** Wrong usage: exit 2, one line on stderr, nothing on stdout. */
function assertWrongUsage(words: readonly string[], message: RegExp): void {
  const { status, stdout, stderr } = turnpike(words)
  assert.equal(status, 2, words.join(' '))
  assert.equal(stdout, '')
  assert.match(stderr, message)
  assert.match(stderr, /^turnpike: [^\n]*\n$/)
}

test('--version prints the version of the package', () => {
  assert.deepEqual(output(turnpike(['--version'])), { status: 0, stdout: `${PACKAGE.version}\n`, stderr: '' })
})

test('the program loads two small libraries before it knows the command', () => {
  const hook = `import { registerHooks } from 'node:module'
    const packages = new Set()
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context)
      packages.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1])
      return found
    } })
    process.on('exit', () => console.error([...packages].filter(Boolean).join(' ')))`
  const { stderr } = turnpike(['--version'], {
    NODE_WORDS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
  })
  assert.equal(stderr, 'commander ipaddr.js\n')
})

test('--help answers at every level with exit 0', () => {
  for (const words of [[], ['serve'], ['keys'], ['keys', 'create'], ['accounts', 'set-plan'], ['config', 'check']]) {
    const { status, stdout, stderr } = turnpike([...words, '--help'])
    assert.deepEqual([status, stderr], [0, ''], words.join(' '))
    assert.ok(stdout.startsWith(`Usage: turnpike ${words.join(' ')}`.trim()), stdout)
  }
})

test('every command and flag of the contract exists', () => {
  const flags: Readonly<Record<string, readonly string[]>> = {
    serve: ['--config <', '--host <', '--port <', '--processes <', '--role <', '--migrate'],
    reload: [],
    migrate: ['--dry-run'],
    'keys create': [
      '--name <',
      '--account <',
      '--scopes <',
      '--ip-allowlist <',
      '--expires-in <',
      '--monthly-budget-usd <',
      '--requests-per-minute <',
      '--models <',
      '--operator',
    ],
    'keys list': ['--json'],
    'keys rotate': ['<key>', '--overlap <', '--json'],
    'keys disable': ['<key>', '--json'],
    'keys enable': ['<key>', '--json'],
    'keys revoke': ['<key>', '--json'],
    'accounts create': ['--name <', '--plan <'],
    'accounts list': ['--json'],
    'accounts set-plan': ['<account> <plan>'],
    'accounts set-overrun': ['<account> <usd>'],
    'login-link': ['--json'],
    doctor: ['--json'],
    'config check': ['[file]', '--json'],
    completion: ['<shell>'],
    'config schema': [],
  }
  for (const [command, names] of Object.entries(flags)) {
    const { stdout } = turnpike([...command.split(' '), '--help'])
    for (const name of names) assert.ok(stdout.includes(name), `${command} ${name}`)
  }
})

test('an unknown command or flag is wrong usage, and the message suggests a similar one', () => {
  assertWrongUsage(['srve'], /unknown command 'srve' \(Did you mean serve\?\)/)
  assertWrongUsage(['keys', 'craete'], /unknown command 'craete' \(Did you mean create\?\)/)
  assertWrongUsage(['serve', '--prot', '1'], /unknown option '--prot' \(Did you mean --port\?\)/)
  assertWrongUsage(['serve', 'now'], /too many arguments/)
})

test('an invalid value is wrong usage', () => {
  assertWrongUsage(['serve', '--port', '70000'], /0 to 65535/)
  assertWrongUsage(['serve', '--port', 'http'], /whole number/)
  assertWrongUsage(['serve', '--processes', '65'], /1 to 64, or auto/)
  assertWrongUsage(['serve', '--role', 'boss'], /all, api, worker/)
  assertWrongUsage(['keys', 'create'], /--name/)
  assertWrongUsage(['keys', 'create', '--name', ' '], /not empty/)
  assertWrongUsage(['keys', 'create', '--name', 'x', '--expires-in', '30'], /such as 30d/)
  assertWrongUsage(['keys', 'create', '--name', 'x', '--monthly-budget-usd', '-1'], /6 decimals/)
  assertWrongUsage(['keys', 'create', '--name', 'x', '--scopes', 'chat,,keys'], /comma-separated/)
  assertWrongUsage(['keys', 'revoke'], /missing required argument 'key'/)
})

test('an incomplete command shows its help on stderr, and is wrong usage', () => {
  for (const words of [['keys'], ['config']]) {
    const { status, stdout, stderr } = turnpike(words)
    assert.deepEqual([status, stdout], [2, ''])
    assert.match(stderr, /Usage: turnpike/)
  }
})

test('config check accepts a valid file, and exits with 1 and a line for each problem of an invalid one', () => {
  writeFileSync(join(cwd, 'good.yaml'), 'server: { port: 8000 }')
  writeFileSync(join(cwd, 'bad.yaml'), 'server:\n  prot: 1\n  host: "a b"\n')
  assert.deepEqual(output(turnpike(['config', 'check', 'good.yaml'])), {
    status: 0,
    stdout: 'good.yaml: ok\n',
    stderr: '',
  })
  const { status, stdout, stderr } = turnpike(['config', 'check', 'bad.yaml'])
  assert.deepEqual([status, stdout], [1, ''])
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    'turnpike: bad.yaml:2:3: server.prot: found an unknown name, did you mean "port"?',
    'turnpike: bad.yaml:3:9: server.host: found "a b", allowed: a host name or an IP address',
  ])
  assert.equal(turnpike(['config', 'check', 'none.yaml']).stderr, 'turnpike: none.yaml: there is no such file\n')
})

test('config check mentions a provider with a key to which no model is routed', () => {
  const acme = 'acme: { protocol: openai, base_url: "http://127.0.0.1:1", api_key: k }'
  writeFileSync(join(cwd, 'unused.yaml'), `providers: { ${acme} }`)
  const { status, stdout } = output(turnpike(['config', 'check', 'unused.yaml']))
  assert.equal(status, 0)
  assert.match(stdout, /^unused\.yaml: ok\n {2}→ The provider acme has a key, but no model .*`deployments`.*\.\n$/)
  const { hints, ...rest } = JSON.parse(turnpike(['config', 'check', 'unused.yaml', '--json']).stdout) as {
    hints: unknown[]
  }
  assert.deepEqual([rest, hints.length], [{ file: 'unused.yaml', ok: true }, 1])
})

test('config schema prints a JSON Schema', () => {
  const { status, stdout } = turnpike(['config', 'schema'])
  assert.equal(status, 0)
  assert.equal((JSON.parse(stdout) as { title: string }).title, 'Turnpike')
})

test('a stack trace is shown only at the log level debug', () => {
  const words = ['config', 'check', 'none.yaml']
  assert.doesNotMatch(turnpike(words).stderr, /\n +at /)
  assert.match(turnpike(words, { LOG_LEVEL: 'debug' }).stderr, /\n +at /)
})

test('colours are for terminals, and never with NO_COLOR', () => {
  assert.doesNotMatch(turnpike(['srve']).stderr, /\u001b/)
  assert.doesNotMatch(turnpike(['srve'], { NO_COLOR: '1' }).stderr, /\u001b/)
})

test('an old Node.js prints the command to run', () => {
  const pretend = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})"
  const loader = `--import=data:text/javascript,${encodeURIComponent(pretend)}`
  const { status, stdout, stderr } = turnpike(['--version'], { NODE_WORDS: loader })
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(stderr, /Node\.js 20\.19\.0/)
  assert.match(stderr, /Node\.js 24 or newer/)
  assert.match(stderr, /npm ci/)
})

function output({ status, stdout, stderr }: Ended): Ended {
  return { status, stdout, stderr }
}

test('serve fails without the configured PostgreSQL, and names the variable, not the password', () => {
  const env = { DATABASE_URL: 'postgres://user:canary@127.0.0.1:1/db', TURNPIKE_SECRET: 'x'.repeat(32), PORT: '0' }
  const { status, stdout, stderr } = turnpike(['serve'], env)
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(stderr, /^turnpike: The database of DATABASE_URL, [^\n]* cannot be used: [^\n]*ECONNREFUSED[^\n]*\n$/)
  assert.ok(!stderr.includes('canary'))
})
