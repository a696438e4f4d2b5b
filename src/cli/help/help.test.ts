/** Help, completion, and how commands are printed. Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { asTyped, invocation } from '../invocation.ts'
import { buildProgram } from '../program.ts'
import { candidates } from './completion.ts'
import { examplesOf } from './examples.ts'

const program = () => buildProgram('0.0.0', () => {})

/** Those that do something, by their words. */
function leaves(command: Command, path: readonly string[] = []): readonly (readonly [string, Command])[] {
  const shown = command.createHelp().visibleCommands(command)
  const below = command.commands.filter((each) => shown.includes(each))
  if (below.length === 0) return [[path.join(' '), command]]
  return below.flatMap((each) => leaves(each, [...path, each.name()]))
}

/** Words as a shell reads them, up to a redirection or a pipe. */
function wordsOf(line: string): readonly string[] {
  const [before = ''] = line.split(/ [>|] /)
  return [...before.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain)
}

test('the help of every command has examples, and each is a command that is accepted', async () => {
  const all = leaves(program())
  assert.ok(all.length > 60)
  for (const [path] of all) {
    const examples = examplesOf(path)
    assert.ok(examples.length > 0, path)
    for (const example of examples) {
      const tried = program()
      const [, command = assert.fail(path)] = leaves(tried).find(([each]) => each === path) ?? []
      let called = false
      command.action(() => {
        called = true
      })
      await tried.parseAsync(wordsOf(example), { from: 'user' })
      assert.ok(called, example)
    }
  }
  const help: string[] = []
  const keys = program().commands.find((each) => each.name() === 'keys')
  keys?.configureOutput({ writeOut: (text) => void help.push(text) }).outputHelp()
  assert.match(help.join(''), /Examples:\n {2}\$ turnpike keys create --name production\n/)
})

/** What they print has a format of its own, or is not a result. */
const WITHOUT_JSON: Readonly<Record<string, string>> = {
  serve: 'a running gateway, whose log is JSON',
  chat: 'the text of the model, as it arrives',
  setup: "the file of a client, in the client's format",
  'agents diff': 'a unified diff',
  'config schema': 'JSON always',
  'config export': 'YAML for the configuration file',
  completion: 'a shell script',
}

test('every command that prints a result prints it as JSON with --json', () => {
  const without = leaves(program()).filter(([, command]) => !command.options.some(({ long }) => long === '--json'))
  assert.deepEqual(without.map(([path]) => path).sort(), Object.keys(WITHOUT_JSON).sort())
})

test('the help of every command fits 100 columns, and names its options and an example', () => {
  for (const [path, command] of leaves(program())) {
    const help: string[] = []
    command.configureOutput({ writeOut: (text) => void help.push(text), getOutHelpWidth: () => 100 }).outputHelp()
    const text = help.join('')
    assert.match(text, /^Examples?:\n {2}\$ turnpike /m, path)
    for (const line of text.split('\n'))
      assert.ok(line.length <= 100 || line.includes('$ turnpike'), `${path}: ${line}`)
    for (const { description } of command.options) assert.notEqual(description, '', path)
  }
})

test('a time of every command may be how long ago it is', () => {
  const found: string[] = []
  for (const [path, { options }] of leaves(program())) {
    for (const { flags, long, parseArg } of options.filter((each) => each.flags.endsWith('<time>'))) {
      if (path === 'budgets raise') continue // lies ahead, and has such a form only
      found.push(`${path} ${long}`)
      const times = ['7d', '2h', '2026-11-01', '2026-11-01T12:00:00Z']
      for (const text of times) assert.equal(typeof parseArg?.(text, undefined), 'number', `${path} ${flags}`)
    }
  }
  for (const each of [
    'usage --from',
    'usage --to',
    'credits rerate --from',
    'credits rerate --to',
    'ledger audit --from',
  ])
    assert.ok(found.includes(each), each)
})

test('an account or team is chosen by its name, too', () => {
  const all = leaves(program()).filter(([path]) => path !== 'usage') // of a server, for operators
  const texts = all.flatMap(([, command]) => [
    ...command.options
      .filter(({ long }) => /^--(account|team)$/.test(long ?? ''))
      .map(({ description }) => description),
    ...command.registeredArguments
      .filter((each) => /^(account|team)$/.test(each.name()))
      .map((each) => each.description),
  ])
  assert.ok(texts.length > 15)
  for (const text of texts) assert.match(text, /^ID or name /)
})

test('completion has the commands, options and choices that can follow', () => {
  const texts = (...words: string[]) => candidates(program(), words).map(([text]) => text)
  assert.ok(['serve', 'keys', 'completion'].every((name) => texts('').includes(name)))
  assert.ok(!texts('').includes('complete'))
  assert.deepEqual(texts('keys', 'ro'), ['rotate'])
  assert.deepEqual(texts('keys', 'rotate', '--o'), ['--overlap'])
  assert.deepEqual(texts('usage', '--group-by', 'k'), ['kind', 'key'])
  assert.deepEqual(texts('completion', ''), ['bash', 'zsh', 'fish'])
  assert.deepEqual(texts('serve', '--role', 'w'), ['worker'])
})

test('commands are printed as this installation is called', () => {
  const npm = { npm_command: 'run-script', npm_package_name: 'turnpike' }
  assert.equal(invocation({}), 'turnpike')
  assert.equal(invocation({ npm_command: 'exec' }), 'npx turnpike')
  assert.equal(invocation({ ...npm, npm_package_name: 'my-app', npm_lifecycle_event: 'gateway' }), 'npx turnpike')
  assert.equal(invocation({ ...npm, npm_lifecycle_event: 'turnpike' }), 'npm run -s turnpike --')
  assert.equal(
    invocation({ npm_command: 'start', npm_package_name: 'turnpike', npm_lifecycle_event: 'start' }),
    'npm run -s turnpike --',
  )
  const message = "Run 'turnpike keys list' to see all keys; a turnpike is a road."
  assert.equal(asTyped(message, 'npx turnpike'), "Run 'npx turnpike keys list' to see all keys; a turnpike is a road.")
})
