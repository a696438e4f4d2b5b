import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import { textTokenBound } from './token-bound.ts'
import { WORDS } from './token-vocabulary.ts'

interface Corpus {
  readonly tokenizers: readonly string[]
  /** Counts in the order of the tokenizers, measured on 2026-11-23. */
  readonly texts: readonly { readonly name: string; readonly text: string; readonly counts: readonly number[] }[]
}
const CORPUS: Corpus = JSON.parse(readFileSync(new URL('../fixtures/token-corpus.json', import.meta.url), 'utf8'))
const ANY = { disallowedSpecial: new Set<string>() }

test('LED-4: no measured tokenizer makes more of a text of the corpus, whatever it is made of', () => {
  assert.ok(CORPUS.texts.length > 30)
  for (const { name, text, counts } of CORPUS.texts) {
    const bound = textTokenBound(text)
    for (const [at, count] of counts.entries())
      assert.ok(count <= bound, `${name}: ${CORPUS.tokenizers[at]} ${count} > ${bound}`)
  }
})

test('the recorded counts are those of the tokenizers that are here', () => {
  for (const { name, text, counts } of CORPUS.texts) {
    assert.deepEqual([countO200k(text, ANY), countCl100k(text, ANY)], counts.slice(0, 2), name)
  }
})

test('prose and code are held for at most twice', () => {
  for (const { name, text, counts } of CORPUS.texts) {
    if (!['english', 'prose', 'code', 'json', 'log'].includes(name)) continue
    assert.ok(textTokenBound(text) <= 2 * Math.max(...counts), name)
  }
})

const words = WORDS.flatMap(([, row]) => row.split(/\s/))
const word = fc.constantFrom(...words)
const ascii = fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code))
const control = fc.integer({ min: 0, max: 31 }).map((code) => String.fromCharCode(code))
const blank = fc.constantFrom(' ', '  ', '    ', '\n', '\n\n', '\t', '\r\n', ' '.repeat(17))
const unit = fc.integer({ min: 0x80, max: 0xffff }).map((code) => String.fromCharCode(code))
const astral = fc.integer({ min: 0x10000, max: 0x2ffff }).map((code) => String.fromCodePoint(code))
const digits = fc.integer({ min: 0, max: 1_000_000 }).map(String)
const code = fc.constantFrom('{"', '":"', '","', '});', '()', '=>', '===', '//', '/*', '</', '\\n', '&&', '!=', '->')
const pieces = [
  word,
  word.map((text) => ` ${text}`),
  word.map((text) => text.toUpperCase()),
  ascii,
  control,
  blank,
  unit,
]
const texts = fc
  .array(fc.array(fc.oneof(...pieces, astral, digits, code), { maxLength: 12 }), { minLength: 1, maxLength: 6 })
  .map((rows) => rows.flat().join('').toWellFormed())

test('no tokenizer that is here makes more of any text', () => {
  fc.assert(
    fc.property(texts, (text) => {
      // What a space before a character of several bytes may cost is in what every message has beside its text.
      const most = textTokenBound(text) * (1 + 1 / 64) + 2
      for (const count of [countO200k(text, ANY), countCl100k(text, ANY)])
        assert.ok(count <= most, `${count} > ${most}`)
    }),
    { numRuns: 2000 },
  )
})

test('a run of anything takes time in proportion to its length', () => {
  for (const piece of ['a', 'aB', ' ', '\n', '"', '0', '\u1361', '\ud800', 'é', 'th', ' the']) {
    const once = textTokenBound(piece.repeat(1000))
    const twice = textTokenBound(piece.repeat(2000))
    assert.ok(twice >= once && twice <= 2 * once + 2, JSON.stringify(piece))
  }
})
