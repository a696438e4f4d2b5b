import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repositoryOf } from './agents/create.ts'
import {
  parseAgentId,
  parseDurationText,
  parseList,
  parseMaxCost,
  parseMaxSteps,
  parsePort,
  parseRepository,
  parseUsd,
  parseWholeNumber,
} from './option-values.ts'

test('lists are split at commas', () => {
  assert.deepEqual(parseList('chat, usage:read'), ['chat', 'usage:read'])
  assert.throws(() => parseList('chat,'))
})

test('numbers are parsed exactly, and nothing else is a number', () => {
  assert.equal(parsePort('0'), 0)
  assert.equal(parsePort('65535'), 65_535)
  assert.equal(parseUsd('12.5'), 12.5)
  assert.equal(parseWholeNumber('600'), 600)
  for (const text of ['', ' 1', '1e3', '0x10', '-1', '1.5', 'Infinity'])
    assert.throws(() => parseWholeNumber(text), text)
  for (const text of ['', '.5', '1.1234567', '-1', '$1', '1,5']) assert.throws(() => parseUsd(text), text)
  assert.throws(() => parsePort('65536'))
})

test('a duration requires a unit', () => {
  for (const text of ['1s', '90m', '12h', '30d']) assert.equal(parseDurationText(text), text)
  for (const text of ['30', 'd', '0d', '30 d', '1.5h', '30w']) assert.throws(() => parseDurationText(text), text)
})

test('a repository is parsed from https and ssh addresses', () => {
  const addresses = [
    'https://github.com/acme/website.git',
    'https://github.com/acme/website',
    'https://user:secret@github.com:8443/acme/website.git/',
    'ssh://git@github.com:22/acme/website.git',
    'git@github.com:acme/website.git',
    'git@github.com:/acme/website',
    'github.com:acme/website.git',
    'git@[::1]:acme/website.git',
  ]
  for (const address of addresses) assert.equal(repositoryOf(address), 'acme/website', address)
  assert.equal(repositoryOf('git@github.com:acme/web.site_2.git'), 'acme/web.site_2')
})

test('an address without organisation/repository is rejected', () => {
  const addresses = ['', '/srv/git/acme/website.git', '../acme/website', 'file:///acme/website', 'C:/acme/website']
  const others = ['https://example.com/a/b/c.git', 'https://example.com/website', 'git@host:website.git', 'ext::sh a/b']
  for (const address of [...addresses, ...others, 'https://example.com/a/b%20c', 'git@host:a/b c', 'https://'])
    assert.equal(repositoryOf(address), undefined, address)
})

test('invalid values are rejected, so that none becomes part of a path', () => {
  const refused: readonly (readonly [read: (text: string) => unknown, wrong: readonly string[]])[] = [
    [parseAgentId, ['', 'agt_', 'key_1', 'agt_1/..', 'agt_1?a', '../agents']],
    [parseRepository, ['', 'website', 'a/b/c', 'a b/c', '/b', 'https://example.com/a/b']],
    [parseMaxCost, ['', '0', '-1', '1e3', '0.0000000001', 'x']],
    [parseMaxSteps, ['', '0', '-1', '1.5', 'x']],
  ]
  for (const [read, wrong] of refused) {
    for (const text of wrong) assert.throws(() => read(text), /Allowed: /, text)
  }
  assert.deepEqual([parseMaxCost('0.000000001'), parseMaxCost('2.50'), parseMaxSteps('500')], [1e-9, 2.5, 500])
})
