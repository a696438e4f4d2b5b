import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growingBlocks } from './growing-markdown.ts'

const ANSWER = `# Title

First paragraph
of two lines.

- one

  still one
- two

After the list.

\`\`\`ts
const a = 1

- not an item
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

1. first

2. second

The end.
`

test('a block ends where no list, fence or table can go on', () => {
  assert.deepEqual(growingBlocks(ANSWER), [
    '# Title\n\n',
    'First paragraph\nof two lines.\n\n- one\n\n  still one\n- two\n\n',
    'After the list.\n\n',
    '```ts\nconst a = 1\n\n- not an item\n```\n\n',
    '| a | b |\n|---|---|\n| 1 | 2 |\n\n1. first\n\n2. second\n\n',
    'The end.\n',
  ])
})

test('as a text grows, all of its blocks but the last stay the same, and nothing that was shown goes', () => {
  let before: readonly string[] = ['']
  for (let length = 1; length <= ANSWER.length; length += 1) {
    const blocks = growingBlocks(ANSWER.slice(0, length))
    const settled = before.slice(0, -1)
    assert.deepEqual(blocks.slice(0, settled.length), settled, `at ${length}`)
    assert.ok(blocks.join('').length >= before.join('').length, `at ${length}`)
    before = blocks
  }
})

const shownOf = (text: string) => growingBlocks(text).join('')

test('the start of a fence is shown from its second line on, its end once it is one', () => {
  for (const start of ['`', '``', '```', '```py', '~~~python']) assert.equal(shownOf(`Code:\n\n${start}`), 'Code:\n\n')
  assert.equal(shownOf('```py\nprint(1)\n``'), '```py\nprint(1)\n')
  assert.equal(shownOf('```py\nprint(1)\n```\n'), '```py\nprint(1)\n```\n')
  assert.equal(shownOf('```py\n| a'), '```py\n| a')
})

test('a table is shown from its second line on, rows as they come', () => {
  for (const head of ['|', '| a', '| a | b |', '| a | b |\n', '| a | b |\n|--', '| a | b |\n|---|---|']) {
    assert.equal(shownOf(`So:\n\n${head}`).trimEnd(), 'So:')
  }
  assert.equal(shownOf('| a | b |\n|---|---|\n'), '| a | b |\n|---|---|\n')
  assert.equal(shownOf('| a | b |\n|---|---|\n| 1'), '| a | b |\n|---|---|\n| 1')
})

test('marks alone wait for what follows', () => {
  for (const marks of ['#', '## ', '- ', '1', '1.', '**', '---', '> ', '- [ ]'])
    assert.equal(shownOf(`A\n\n${marks}`), 'A\n\n')
  assert.equal(shownOf('A\n\n## B'), 'A\n\n## B')
  assert.equal(shownOf('A - '), 'A - ')
})
