import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineDiff } from './line-diff.ts'

const told = (before: string, after: string) =>
  lineDiff(before, after).map(
    ({ kind, text, oldNumber = '', newNumber = '' }) =>
      `${{ context: ' ', added: '+', removed: '-' }[kind]}${text} ${oldNumber}:${newNumber}`,
  )

test('lines that both texts have are context, with their numbers on both sides', () => {
  assert.deepEqual(told('a\nb\nc\nd', 'a\nx\nc\nd\ne'), [' a 1:1', '-b 2:', '+x :2', ' c 3:3', ' d 4:4', '+e :5'])
  assert.deepEqual(told('same', 'same'), [' same 1:1'])
  assert.deepEqual(told('', 'one'), ['- 1:', '+one :1'])
})

test('applied to the first text, a diff of random texts gives the second', () => {
  let seed = 7
  const random = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % most
  }
  const textOf = () => Array.from({ length: random(12) }, () => 'abc'[random(3)]).join('\n')
  for (let round = 0; round < 300; round++) {
    const [before, after] = [textOf(), textOf()]
    const lines = lineDiff(before, after)
    const side = (kind: string) => lines.flatMap((line) => (line.kind === kind ? [] : [line.text])).join('\n')
    assert.deepEqual([side('added'), side('removed')], [before, after])
  }
})

test('very long texts are told as replaced', () => {
  const long = (word: string) => Array.from({ length: 3_000 }, (_, at) => `${word} ${at}`).join('\n')
  const lines = lineDiff(long('one'), long('two'))
  assert.equal(lines.filter(({ kind }) => kind === 'removed').length, 3_000)
})

test('long texts are compared by the lines that each has once, and in detail between them', () => {
  const text = (changed: string) =>
    Array.from({ length: 6_000 }, (_, at) => (at % 2_000 === 1_000 ? changed : `line ${at}\n}`)).join('\n')
  const lines = lineDiff(`one\n${text('x')}\nend`, `two\n${text('y')}\nlast`)
  const changed = lines.filter(({ kind }) => kind !== 'context').map(({ text: line }) => line)
  assert.deepEqual(changed, ['one', 'two', 'x', 'y', 'x', 'y', 'x', 'y', 'end', 'last'])
})
