import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOSTILE_MARKUP } from '../../../test/support/http/hostile-markup.ts'
import { safeLink, visibleLine, visibleName, visibleText } from './visible-text.ts'

test('what a terminal would obey is dropped, what a reader needs stays', () => {
  assert.equal(visibleText('\u001b[31mred\u001b[0m\tand\r\nplain'), 'red\tand\nplain')
  assert.equal(visibleText('\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007'), 'link')
  assert.equal(visibleText('\u001b]0;title\u001b\\x\u009b2Jy\u001bcz'), 'xyz')
  assert.equal(visibleText('naïve 👩‍💻 日本語 שלום'), 'naïve 👩‍💻 日本語 שלום')
})

test('what hides or turns text is seen by its code point', () => {
  assert.equal(visibleText('if (a\u202e\u2066// admin\u2069)'), 'if (a[U+202E][U+2066]// admin[U+2069])')
  assert.equal(
    visibleText('a\u200bb\u00adc\ufeffd\u2028e\u{e0041}f'),
    'a[U+200B]b[U+00AD]c[U+FEFF]d[U+2028]e[U+E0041]f',
  )
  assert.equal(visibleText('a\u0000b\bc\u007fd\u0085'), 'a␀b␈c␡d[U+0085]')
  assert.equal(visibleText('lone \ud800 half'), 'lone \ufffd half')
})

test('a line of a file also shows how it ends, and a sequence in it is seen', () => {
  assert.equal(visibleLine('text\r'), 'text␍')
  assert.equal(visibleLine('\u001b[31mred'), '␛[31mred')
})

test('a name is one line', () => {
  assert.equal(visibleName('a\nb\tc\u001b[2J'), 'a b c')
})

test('links lead to other sites and to mail', () => {
  assert.equal(safeLink('https://example.com/a?b#c'), 'https://example.com/a?b#c')
  assert.equal(safeLink('HTTP://Example.com'), 'http://example.com/')
  assert.equal(safeLink('mailto:a@example.com'), 'mailto:a@example.com')
})

test('not into this site, and not to scripts, documents and programs', () => {
  for (const address of [
    '',
    '#x',
    '/app/settings',
    'x',
    '//example.com',
    '?a',
    'tel:1',
    'file:///etc/passwd',
    'app:x',
    'blob:https://x',
  ])
    assert.equal(safeLink(address), undefined, address)
})

test('what is written to look like a link is none, or one to another site', () => {
  const destinations = HOSTILE_MARKUP.flatMap((text) => [text, ...text.split(/[\s"'<>]+/)])
  const linked = destinations.map(safeLink).filter((address) => address !== undefined)
  for (const address of linked) assert.match(address, /^(https?:\/\/|mailto:)[^"<>\s]*$/)
  assert.ok(linked.length > 0)
  assert.ok(destinations.some((address) => /^\s*java\s*script:/i.test(address)))
})
