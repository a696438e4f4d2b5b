import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOSTILE_MARKUP } from '../../../test/support/hostile-markup.ts'
import { safeLink } from './safe-link.ts'

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
