import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Home, makeHome, type RunOptions } from '../../../test/support/process/command-line.ts'
import { CLIENT_NAMES } from '../option-values.ts'
import { CLIENTS, lineDiff, withTomlSettings } from './setup.ts'

const SETTINGS = { url: 'http://localhost:7575', model: 'm1', smallModel: 'm2', keyVariable: 'TURNPIKE_API_KEY' }
const FLAGS = ['--url', SETTINGS.url, '--model', 'm1', '--small-model', 'm2']
/** Below the home directory. */
const FILES = {
  claude: '.claude/settings.json',
  codex: '.codex/config.toml',
  opencode: 'config/opencode/opencode.json',
  aider: '.aider.conf.yml',
} as const

function homeOf(t: TestContext) {
  const home: Home = makeHome()
  t.after(home.remove)
  const root = dirname(dirname(home.folder))
  const run = (words: readonly string[], options?: RunOptions) => home.run(['setup', ...words, ...FLAGS], options)
  return { run, pathOf: (name: keyof typeof FILES) => join(root, FILES[name]) }
}

for (const name of CLIENT_NAMES) {
  test(`${name}: the settings are printed, and applied with --write`, async (t) => {
    const { run, pathOf } = homeOf(t)
    const expected = CLIENTS[name].edit('', SETTINGS)
    const printed = await run([name])
    assert.deepEqual([printed.code, printed.stdout], [0, expected], printed.stderr)
    assert.equal(existsSync(pathOf(name)), false)
    const written = await run([name, '--write', '--yes'])
    assert.equal(written.code, 0, written.stderr)
    assert.match(written.stdout, /^\+ .*m1/m)
    assert.equal(readFileSync(pathOf(name), 'utf8'), expected)
    const again = await run([name, '--write'])
    assert.match(again.stderr, /has these settings already/)
    assert.equal(again.stdout, '')
  })
}

test('small tasks go to the small model, where the client would call a model that the gateway may not have', () => {
  assert.equal(
    CLIENTS.aider.edit('', SETTINGS),
    'openai-api-base: http://localhost:7575/v1\nmodel: openai/m1\nweak-model: openai/m2\n',
  )
  const { provider, model, small_model } = JSON.parse(CLIENTS.opencode.edit('', SETTINGS))
  assert.deepEqual([model, small_model], ['turnpike/m1', 'turnpike/m2'])
  assert.deepEqual(provider.turnpike.models, { m1: {}, m2: {} })
})

test('the file is changed only after a yes, and keeps its permissions; a symbolic link stays one', async (t) => {
  const { run, pathOf } = homeOf(t)
  const path = pathOf('claude')
  mkdirSync(dirname(path))
  const target = `${path}.real`
  writeFileSync(target, '{"theme":"dark","env":{"FOO":"1"}}')
  chmodSync(target, 0o640)
  symlinkSync(target, path)
  for (const input of ['', 'n\n', 'maybe\n']) {
    const { code, stderr } = await run(['claude', '--write'], { input })
    assert.deepEqual([code, readFileSync(path, 'utf8')], [0, '{"theme":"dark","env":{"FOO":"1"}}'])
    assert.match(stderr, /Nothing was changed/)
  }
  assert.equal((await run(['claude', '--write'], { input: 'y\n' })).code, 0)
  const { theme, env, apiKeyHelper } = JSON.parse(readFileSync(target, 'utf8'))
  assert.deepEqual([theme, env.FOO, env.ANTHROPIC_MODEL], ['dark', '1', 'm1'])
  assert.equal(apiKeyHelper, 'printenv TURNPIKE_API_KEY')
  assert.equal(statSync(target).mode & 0o777, 0o640)
})

test('a file that cannot be read is not changed', async (t) => {
  const { run, pathOf } = homeOf(t)
  const broken = { claude: '{"a": ', opencode: '[]', aider: 'a: [', codex: 'a = """\nmodel = 1\n"""\n' } as const
  for (const name of CLIENT_NAMES) {
    mkdirSync(dirname(pathOf(name)), { recursive: true })
    writeFileSync(pathOf(name), broken[name])
    const { code, stderr } = await run([name, '--write', '--yes'])
    assert.equal(code, 1, name)
    assert.match(stderr, /was not changed, since it cannot be read/)
    assert.equal(readFileSync(pathOf(name), 'utf8'), broken[name])
  }
})

test('a gateway or model that is not known is wrong usage, and a name of a variable has no other characters', async (t) => {
  const home = makeHome()
  t.after(home.remove)
  assert.equal((await home.run(['setup', 'claude'])).code, 1)
  assert.equal((await home.run(['setup', 'emacs', ...FLAGS])).code, 2)
  assert.equal((await home.run(['setup', 'claude', ...FLAGS, '--key-variable', 'A; rm'])).code, 2)
})

test('settings of TOML are replaced in place, and other lines are kept', () => {
  const text = [
    '# mine',
    'model = "old" # my favourite',
    'approval_policy = "never"',
    '',
    '[model_providers.other]',
    'model = "kept"',
    '[model_providers.turnpike]',
    'base_url = "old"',
    '[tui]',
    'theme = "x"',
  ].join('\n')
  const settings = {
    top: { model: 'a "b"', added: '1' },
    table: 'model_providers.turnpike',
    values: { base_url: 'new', auth: { command: 'printenv', args: ['A', 'B'] } },
  }
  const after = withTomlSettings(text, settings)
  assert.equal(
    after,
    [
      'added = "1"',
      '# mine',
      'model = "a \\"b\\""',
      'approval_policy = "never"',
      '',
      '[model_providers.other]',
      'model = "kept"',
      '[tui]',
      'theme = "x"',
      '',
      '[model_providers.turnpike]',
      'base_url = "new"',
      'auth = { command = "printenv", args = ["A","B"] }',
      '',
    ].join('\n'),
  )
  assert.equal(withTomlSettings(after, settings), after)
})

test('a diff has the lines that differ, with two lines around them', () => {
  const text = (...lines: string[]) => `${lines.join('\n')}\n`
  assert.equal(
    lineDiff(text('a', 'b', 'c', 'd', 'e', 'f', 'g'), text('a', 'b', 'c', 'x', 'e', 'f', 'g')),
    text('  b', '  c', '- d', '+ x', '  e', '  f'),
  )
  assert.equal(lineDiff('', text('a')), text('+ a'))
})

test('hints name the page of the client, which exists', async (t) => {
  for (const name of CLIENT_NAMES) {
    const { stderr } = await homeOf(t).run([name])
    const [, page = ''] = /More: http:\/\/localhost:7575\/docs\/(clients\/[\w-]+)\n/.exec(stderr) ?? []
    assert.match(readFileSync(join('docs', `${page}.md`), 'utf8'), new RegExp(`turnpike setup ${name} `))
  }
})
