import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSimpleMarkdown } from './markdown-limits.ts'

const MANY = 2_000
const pairs = '**a** '.repeat(200)

test('what people and models write is simple, however long it is', () => {
  const table = ['| a | b |', '|---|---|', ...Array(150).fill('| **a** | `b` |')].join('\n')
  const list = '- **a**: [b](https://c.example)\n'.repeat(MANY)
  const code = `\`\`\`js\n${'a[i] * b_c_d\n'.repeat(MANY)}\`\`\`\n`
  const nested = ['- a', '  - b', '    1. c', '       > d', '', '---', '* * * * *', '# e'].join('\n')
  const texts = { table, list, code, nested, paragraphs: `${pairs}\n\n`.repeat(100), words: 'word '.repeat(100_000) }
  for (const [name, text] of Object.entries(texts)) assert.equal(isSimpleMarkdown(text), true, name)
})

test('text that opens many levels, or pairs many marks in a paragraph, is not', () => {
  const texts = {
    quotes: '>'.repeat(MANY),
    items: '- '.repeat(MANY),
    numbers: '1. '.repeat(MANY),
    'indented items': `${'  '.repeat(30)}- a`,
    emphasis: '*a_'.repeat(MANY),
    'emphasis in lines': '> **a\n'.repeat(MANY),
    'carriage returns': '*a_\r'.repeat(MANY),
    links: '[a]('.repeat(MANY),
    underlines: '===\n'.repeat(MANY),
    // What is no fence for a parser hides nothing.
    'a fence in HTML': `<!--\n\n\`\`\`\n-->\n${'*a_'.repeat(MANY)}`,
    'a fence in a list that ends': `- a\n  \`\`\`\n\n${'*a_'.repeat(MANY)}`,
    'an indented end of a fence': `\`\`\`\n     \`\`\`\n\`\`\`\n${'*a_'.repeat(MANY)}`,
    'a shorter end of a fence': `\`\`\`\`\n\`\`\`\n\`\`\`\`\n${'*a_'.repeat(MANY)}`,
  }
  for (const [name, text] of Object.entries(texts)) assert.equal(isSimpleMarkdown(text), false, name)
})
