import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, changesOf, draftOf, expiryChoices, type KeyLimits, missingOf, NEW_KEY, problemsOf } from './draft.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const KEY: KeyLimits = {
  name: 'CI',
  scopes: ['chat', 'operator'],
  ip_allowlist: ['203.0.113.0/24', '2001:db8::/32'],
  monthly_budget_usd: 12.5,
  requests_per_minute: 60,
  models: ['one'],
  expires_at: '2026-12-01T10:00:00.000Z',
  tags: { env: 'prod' },
  require_tags: ['customer'],
}

test('what is not touched is not sent, so that a key keeps what its editor could not give', () => {
  assert.deepEqual(changesOf(KEY, draftOf(KEY), NOW), {})
  assert.deepEqual(changesOf(KEY, { ...draftOf(KEY), name: ' Deploy ' }, NOW), { name: 'Deploy' })
})

test('limits are taken away by emptying their fields', () => {
  const draft = { ...draftOf(KEY), budgetUsd: '', requestsPerMinute: ' ', allModels: true, addresses: '\n' }
  assert.deepEqual(changesOf(KEY, { ...draft, access: 'full', expiry: 'never' }, NOW), {
    scopes: [],
    ip_allowlist: [],
    monthly_budget_usd: null,
    requests_per_minute: null,
    models: [],
    expires_at: null,
  })
})

test('a number that cannot be read keeps the form from being sent, and is not "no limit"', () => {
  for (const budgetUsd of ['5 dollars', '-1', '1e3', '99999999999']) {
    assert.notEqual(problemsOf({ ...NEW_KEY, budgetUsd }).budget, undefined, budgetUsd)
    assert.notEqual(missingOf({ ...NEW_KEY, name: 'x', budgetUsd }), undefined, budgetUsd)
  }
  assert.notEqual(missingOf({ ...NEW_KEY, name: 'x', requestsPerMinute: '1.5' }), undefined)
  assert.equal(missingOf({ ...NEW_KEY, name: 'x', budgetUsd: '1,000.50' }), undefined)
  assert.equal(bodyOf({ ...NEW_KEY, budgetUsd: '1,000.50' }, NOW).monthly_budget_usd, 1000.5)
})

test('nothing chosen is not everything', () => {
  assert.notEqual(missingOf({ ...NEW_KEY, name: 'x', access: 'chosen', scopes: [] }), undefined)
  assert.notEqual(missingOf({ ...NEW_KEY, name: 'x', allModels: false }), undefined)
  assert.notEqual(missingOf({ ...NEW_KEY, name: 'x', expiry: 'date' }), undefined)
  assert.notEqual(missingOf({ ...NEW_KEY, name: '  ' }), undefined)
})

test('a key ends so many days from now, or when the chosen day is over', () => {
  assert.equal(bodyOf({ ...NEW_KEY, expiry: '30' }, NOW).expires_at, '2026-12-22T12:00:00.000Z')
  assert.equal(
    bodyOf({ ...NEW_KEY, expiry: 'date', lastDay: '2026-12-31' }, NOW).expires_at,
    '2027-01-01T00:00:00.000Z',
  )
  assert.equal(expiryChoices(KEY)[0]?.value, 'keep')
  assert.equal(expiryChoices(undefined)[0]?.value, 'never')
})

test('addresses are taken one a line, and with commas as people paste them', () => {
  const { ip_allowlist: list } = bodyOf({ ...NEW_KEY, addresses: ' 203.0.113.7\r\n\n10.0.0.0/8, ::1 ' }, NOW)
  assert.deepEqual(list, ['203.0.113.7', '10.0.0.0/8', '::1'])
})

test('tags are key=value a line, and what is none keeps the form from being sent', () => {
  const draft = { ...NEW_KEY, name: 'x', tags: 'customer=northwind\nenv=prod', requiredTags: 'customer, team' }
  const { tags, require_tags, team_id } = bodyOf({ ...draft, team: 'team_1' }, NOW)
  assert.deepEqual([tags, require_tags], [{ customer: 'northwind', env: 'prod' }, ['customer', 'team']])
  assert.equal(team_id, 'team_1')
  assert.equal('team_id' in bodyOf(draft, NOW), false)
  assert.equal(missingOf(draft), undefined)
  assert.notEqual(missingOf({ ...draft, tags: 'Customer=1' }), undefined)
  assert.notEqual(missingOf({ ...draft, requiredTags: 'a=b' }), undefined)
  const many = Array.from({ length: 11 }, (_, index) => `k${index}=v`).join(' ')
  assert.equal(problemsOf({ ...draft, tags: many }).tags, 'At most 10.')
  assert.deepEqual(changesOf(KEY, { ...draftOf(KEY), tags: '', requiredTags: '' }, NOW), { tags: {}, require_tags: [] })
})
