import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { dollars, grouped, jsonLine, plainLine, plainText, steadyProgress } from './output.ts'

const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/

test('no control sequence passes, wherever the text is split', () => {
  const steering = ['\u001b', '[', ']', '2J', '\u009b', '\u0007', '\r', '\n', '\u202e', 'a']
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  const piece = fc.array(fc.oneof(fc.constantFrom(...steering), unit)).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const shown = pieces.map(plainText).join('')
      assert.doesNotMatch(shown, STEERING)
      assert.doesNotMatch(plainLine(pieces.join('')), /[\n\t]/)
      assert.doesNotMatch(jsonLine(pieces), STEERING)
      assert.deepEqual(JSON.parse(jsonLine(pieces)), pieces)
    }),
  )
})

test('sequences for titles, clipboards, colours and links become text', () => {
  assert.equal(
    plainText('\u001b]0;owned\u0007\u001b]52;c;cm0gLXJm\u0007\u001b[31mred\u001b[0m'),
    ']0;owned]52;c;cm0gLXJm[31mred[0m',
  )
  assert.equal(plainText('safe\rrm -rf /'), 'safe\nrm -rf /')
})

test('ordinary text stays unchanged', () => {
  const text = 'Grüße, 你好, مرحبا, 👩‍👩‍👧 – “quotes”\n\tindented\n'
  assert.equal(plainText(text), text)
  assert.equal(plainLine(' two\n words '), 'two words')
})

const sources = () =>
  globSync('**/*.ts', { cwd: import.meta.dirname })
    .filter((path) => !path.endsWith('.test.ts'))
    .map((path) => [path, readFileSync(`${import.meta.dirname}/${path}`, 'utf8')] as const)

test('counts and amounts have separators, and every count in a text of a command is written so', () => {
  assert.deepEqual([grouped(999), grouped(1234567), grouped('-1234.5')], ['999', '1,234,567', '-1,234.5'])
  assert.deepEqual([dollars(1212.5), dollars(-0.000012)], ['$1,212.50', '-$0.000012'])
  const counted =
    'accounts|calls|changes|charges|completions|entries|events|failed|findings|keys|models|more|rows|settings|skipped|teams|tokens|MiB'
  const plain = new RegExp(
    String.raw`\$\{(?!(?:grouped|count|numberText|rows)\(|MAX_|server\.url)[^{}]*\} (?:${counted})\b`,
    'g',
  )
  const found = sources().flatMap(([path, text]) => [...text.matchAll(plain)].map(([match]) => `${path}: ${match}`))
  assert.deepEqual(found, [])
})

test('colours depend on their stream, so that NO_COLOR and a pipe switch them off', () => {
  for (const [path, text] of sources()) {
    for (const [call] of text.matchAll(/styleText\((?:[^()]|\([^()]*\))*\)/g)) assert.match(call, /stream/, path)
    for (const line of text.split('\n')) if (/\\u001b|\\x1b/.test(line)) assert.match(line, /CLEAR_LINE =/, path)
  }
})

test('progress is written to a terminal only, and at most every 5 seconds', (t) => {
  const written: string[] = []
  t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0)
  const terminal = { value: process.stderr.isTTY, configurable: true, writable: true }
  t.after(() => Object.defineProperty(process.stderr, 'isTTY', terminal))
  let now = 0
  const show = steadyProgress(() => now)
  for (const isTTY of [false, true]) {
    Object.defineProperty(process.stderr, 'isTTY', { ...terminal, value: isTTY })
    for (let second = 0; second < 11; second += 1) {
      now += 1_000
      show(() => `at ${now}`)
    }
  }
  assert.deepEqual(written, ['at 15000\n', 'at 20000\n'])
})
