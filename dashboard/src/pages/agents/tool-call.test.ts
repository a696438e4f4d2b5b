import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FOLDED_CHARACTERS, FOLDED_LINES, folded, inlineDiff, readToolCall, withoutOutcome } from './tool-call.ts'

const call = (name: string, given: unknown) => readToolCall({ name, arguments: JSON.stringify(given) })

test('calls of the known tools are read', () => {
  assert.deepEqual(call('shell', { command: 'ls' }), { kind: 'shell', command: 'ls' })
  assert.deepEqual(call('edit', { path: 'a', old: 'x', new: '' }), { kind: 'edit', path: 'a', old: 'x', new: '' })
  assert.deepEqual(call('create', { path: 'a', content: 'x' }), { kind: 'create', path: 'a', content: 'x' })
  assert.deepEqual(call('view', {}), { kind: 'view', path: '.', lines: undefined })
  assert.deepEqual(call('view', { path: 'a', start_line: 3, end_line: 9 }), {
    kind: 'view',
    path: 'a',
    lines: 'lines 3–9',
  })
  assert.deepEqual(call('view', { path: 'a', start_line: 3 }), { kind: 'view', path: 'a', lines: 'lines 3 on' })
  assert.deepEqual(call('search', { pattern: 'x' }), { kind: 'search', pattern: 'x', path: undefined })
  assert.deepEqual(call('finish', { summary: 'Done.' }), { kind: 'finish', summary: 'Done.' })
})

test('what is no such call is shown as it was written', () => {
  for (const given of [null, [], 'x', { command: ['ls'] }, {}]) {
    assert.deepEqual(call('shell', given), { kind: 'other', text: JSON.stringify(given) })
  }
  assert.deepEqual(call('dance', { path: 'a' }), { kind: 'other', text: '{"path":"a"}' })
  assert.deepEqual(call('edit', { path: 'a', old: 'x' }).kind, 'other')
  assert.deepEqual(readToolCall({ name: 'shell', arguments: '{"command":' }), { kind: 'other', text: '{"command":' })
})

test('of a command that has run, what it wrote is left', () => {
  assert.equal(withoutOutcome('exit code 0, after 0.1 s\npassed'), 'passed')
  assert.equal(withoutOutcome('exit code 1, after 12.0 s, no output'), '')
  assert.equal(withoutOutcome('stopped: it took too long, after 120.0 s\nhalf'), 'half')
  assert.equal(withoutOutcome('There is no tool.'), 'There is no tool.')
  assert.equal(withoutOutcome('x\nexit code 0, after 0.1 s\n'), 'x\nexit code 0, after 0.1 s\n')
})

test('long texts are folded, from either end, and short ones are not', () => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `${at}`).join('\n')
  assert.equal(folded(lines(FOLDED_LINES + 2)), undefined)
  assert.equal(folded(lines(100))?.split('\n').length, FOLDED_LINES)
  assert.ok(folded(lines(100))?.startsWith('0\n1\n'))
  assert.ok(folded(lines(100), 'end')?.endsWith('\n98\n99'))
  const wide = `a${'x'.repeat(2 * FOLDED_CHARACTERS)}z`
  assert.deepEqual(
    [folded(wide)?.length, folded(wide)?.at(0), folded(wide, 'end')?.at(-1)],
    [FOLDED_CHARACTERS, 'a', 'z'],
  )
})

const shown = (before: string, after: string) => {
  const signs = { context: ' ', added: '+', removed: '-' }
  return inlineDiff(before, after).map(({ kind, text }) => signs[kind] + text)
}

test('what both begin and end with stays', () => {
  assert.deepEqual(shown('a\nb\nc\n', 'a\nB\nB\nc\n'), [' a', '-b', '+B', '+B', ' c'])
  assert.deepEqual(shown('$1 - $2', '$1 + $2'), ['-$1 - $2', '+$1 + $2'])
})

test('texts that repeat themselves, and empty ones', () => {
  assert.deepEqual(shown('a\na', 'a\na\na'), [' a', ' a', '+a'])
  assert.deepEqual(shown('', 'x\ny\n'), ['+x', '+y'])
  assert.deepEqual(shown('x', ''), ['-x'])
  assert.deepEqual(shown('x', 'x'), [' x'])
  assert.deepEqual(shown('', ''), [])
})
