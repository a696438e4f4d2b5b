import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { makeHome } from '../../../test/support/process/command-line.ts'
import { isUnencrypted, parseServerUrl } from '../option-values.ts'
import { dollars } from '../output.ts'
import { configFolder, type Machine } from './auth/private-files.ts'
import { parseProfileName } from './auth/profiles.ts'
import { clockText } from './login.ts'

const home = makeHome()
after(() => home.remove())

test('every command and flag of the contract exists', async () => {
  const flags: Readonly<Record<string, readonly string[]>> = {
    login: ['--url <', '--profile <', '--open', '--insecure-file'],
    logout: ['--profile <', '--all'],
    whoami: ['--url <', '--profile <', '--json'],
    chat: ['[model]', '--model <', '--system <', '--url <', '--profile <'],
    models: ['--json', '--url <', '--profile <'],
    usage: ['--json', '--from <', '--to <', '--group-by <', '--account <', '--url <', '--profile <'],
    'webhooks listen': ['--forward <', '--events <', '--secret <', '--print-json', '--url <', '--profile <'],
    'webhooks trigger': ['<event>', '--json', '--url <', '--profile <'],
    'provider-credentials add': ['<provider>', '--name <', '--key <', '--allow-fallback', '--json', '--url <'],
    'provider-credentials list': ['--json', '--url <', '--profile <'],
    'provider-credentials rotate': ['<id>', '--json', '--url <', '--profile <'],
    'provider-credentials remove': ['<id>', '--json', '--url <', '--profile <'],
    'webhooks resend': ['[delivery]', '--webhook <', '--failed-since <', '--json', '--url <', '--profile <'],
  }
  await Promise.all(
    Object.entries(flags).map(async ([command, names]) => {
      const { code, stdout, stderr } = await home.run([...command.split(' '), '--help'])
      assert.deepEqual([code, stderr], [0, ''], command)
      for (const name of names) assert.ok(stdout.includes(name), `${command} ${name}`)
    }),
  )
})

test('invalid values are wrong usage: exit 2', async () => {
  const wrong = [
    ['login', '--url', 'ftp://x'],
    ['whoami', '--profile', '../x'],
    ['usage', '--group-by', 'colour'],
    ['usage', '--period-start', 'yesterday'],
    ['models', 'now'],
  ]
  for (const { code, stdout } of await Promise.all(wrong.map((words) => home.run(words)))) {
    assert.deepEqual([code, stdout], [2, ''])
  }
})

test('without a sign-in and a key, the message names both', async () => {
  const cases = [
    [{}, /You are not signed in\. Run 'turnpike login --url https:\/\/…', or set TURNPIKE_API_KEY/],
    [
      { TURNPIKE_URL: 'ai.example.com' },
      /Run 'turnpike login --url https:\/\/ai\.example\.com', or set TURNPIKE_API_KEY/,
    ],
    [{ TURNPIKE_API_KEY: 'tp_secret\u0001x' }, /TURNPIKE_API_KEY is not a valid API key\.\n$/],
    [{ TURNPIKE_API_KEY: 'tp_secret', HOST: 'evil.example' }, /not an address of this machine/],
  ] as const
  for (const [env, sentence] of cases) {
    const { code, stderr } = await home.run(['models'], { env })
    assert.equal(code, 1)
    assert.match(stderr, sentence)
    assert.doesNotMatch(stderr, /secret/)
  }
})

test('a .env of a cloned folder cannot redirect the user’s key', async () => {
  const file = join(dirname(dirname(home.folder)), '.env')
  writeFileSync(file, 'TURNPIKE_URL=http://203.0.113.1:1\n')
  const { code, stderr } = await home.run(['models'], { env: { TURNPIKE_API_KEY: 'tp_secret' } })
  assert.equal(code, 1)
  assert.match(stderr, /TURNPIKE_URL is in the \.env of this folder, but TURNPIKE_API_KEY is your own/)
  writeFileSync(file, 'TURNPIKE_URL=http://127.0.0.1:9\nTURNPIKE_API_KEY=tp_own\n')
  assert.match((await home.run(['models'])).stderr, /127\.0\.0\.1:9 is unreachable/)
})

test('profiles are in the configuration folder of the system', () => {
  const at = (over: Partial<Machine>) => configFolder({ env: {}, platform: 'linux', home: '/h', ...over })
  assert.equal(at({}), '/h/.config/turnpike')
  assert.equal(at({ env: { XDG_CONFIG_HOME: '/x' } }), '/x/turnpike')
  assert.equal(at({ env: { XDG_CONFIG_HOME: 'x' } }), '/h/.config/turnpike')
  assert.equal(at({ platform: 'darwin' }), '/h/Library/Application Support/turnpike')
  assert.equal(at({ platform: 'win32', env: { APPDATA: '/a' } }), '/a/turnpike')
})

test('a server address is accepted in common spellings', () => {
  const taken: Readonly<Record<string, string>> = {
    'https://ai.example.com/': 'https://ai.example.com',
    'https://ai.example.com/v1/': 'https://ai.example.com',
    'https://example.com/ai/v1': 'https://example.com/ai',
    'ai.example.com': 'https://ai.example.com',
    'localhost:7575': 'http://localhost:7575',
    '127.0.0.1:7575/v1': 'http://127.0.0.1:7575',
    ' HTTP://AI.example.com:80 ': 'http://ai.example.com',
  }
  for (const [written, url] of Object.entries(taken)) assert.equal(parseServerUrl(written), url)
  for (const wrong of [
    '',
    'file:///etc/passwd',
    'https://user:pw@x',
    'https://x/?a=1',
    'https://x/#a',
    'javascript:alert(1)',
    '-x y',
  ]) {
    assert.throws(() => parseServerUrl(wrong), /Allowed: an http or https address/, wrong)
  }
  const readable = ['http://ai.example.com', 'https://ai.example.com', 'http://localhost:1'].map(isUnencrypted)
  assert.deepEqual(readable, [true, false, false])
})

test('a profile name must be a valid file name', () => {
  for (const name of ['default', 'a', 'my.work-2_x']) assert.equal(parseProfileName(name), name)
  for (const name of ['', '.', '..', 'a/b', 'a b', '-x', 'x'.repeat(65)])
    assert.throws(() => parseProfileName(name), name)
})

test('money and durations are rendered', () => {
  assert.deepEqual([0, 12.5, 0.0000125, 1e-9, -3].map(dollars), [
    '$0.00',
    '$12.50',
    '$0.0000125',
    '$0.000000001',
    '-$3.00',
  ])
  assert.deepEqual([900_000, 59_001, -5].map(clockText), ['15:00', '1:00', '0:00'])
})
