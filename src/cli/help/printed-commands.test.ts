/** Commands that the dashboard and messages of the gateway print: each is one that this command line accepts. Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { type Printed, printedIn } from '../../../test/support/process/printed-commands.ts'
import { buildProgram } from '../program.ts'

/** Texts that begin with the word, and are no commands. */
const OTHERS: ReadonlySet<string> = new Set(['name', 'session key id ', 'customer name', 'on Linux'])

function stub(command: Command, called: () => void): void {
  if (command.commands.length === 0) command.action(called)
  for (const each of command.commands) stub(each, called)
}

async function assertAccepted({ where, command }: Printed): Promise<void> {
  let [calls, message] = [0, '']
  const program = buildProgram('0.0.0', (text) => {
    message = text
  })
  stub(program, () => {
    calls += 1
  })
  const [before = ''] = command.split(' | ')
  const words = [...before.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word)
  await program.parseAsync(words, { from: 'user' }).catch(() => undefined)
  assert.equal(calls, 1, `${where} prints 'turnpike ${command}': ${message}`)
}

test('F20: every command that the dashboard prints is accepted', async () => {
  const printed = printedIn('dashboard/src/**/*.ts', 'dashboard/src/**/*.tsx')
  assert.ok(printed.length >= 18, `${printed.length}`)
  for (const each of printed) await assertAccepted(each)
  const commands = printed.map(({ command }) => command)
  for (const each of ['config check', 'doctor', 'chat', 'login --url https://ai.example.com'])
    assert.ok(commands.includes(each), each)
})

test('F20: every command that messages of the gateway and the command line print is accepted', async () => {
  const printed = printedIn('src/**/*.ts').filter(({ command }) => !OTHERS.has(command))
  assert.ok(printed.length >= 30, `${printed.length}`)
  for (const each of printed) await assertAccepted(each)
})
