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
