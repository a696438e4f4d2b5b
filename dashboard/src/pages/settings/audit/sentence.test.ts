import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditEntry, actionName, KNOWN_ACTIONS, sentenceOf } from './sentence.ts'

const NAMES = new Map([
  ['user_1', 'Ada'],
  ['key_1', 'CI'],
])
const tell = (entry: Partial<AuditEntry>) =>
  sentenceOf(
    {
      actor: { kind: 'session', id: 'user_1', name: 'ada@example.com' },
      action: 'key.revoked',
      subject: 'key_1',
      result: 'done',
      details: {},
      ...entry,
    },
    (id) => NAMES.get(id),
  )

test('an entry is a sentence with the names of those who are known', () => {
  assert.equal(tell({}), 'Ada revoked key “CI”')
  assert.equal(tell({ subject: 'key_2' }), 'Ada revoked a key')
  assert.equal(tell({ action: 'key.created', details: { name: 'Old name' } }), 'Ada created key “Old name”')
  const change = { email: 'bob@example.com', from: 'admin', role: 'owner' }
  assert.equal(tell({ action: 'member.role_changed', details: change }), 'Ada made bob@example.com owner (was admin)')
  const budget = { monthly_budget_usd: 5, alert_thresholds: [80] }
  assert.equal(
    tell({ action: 'account.changed', details: budget }),
    'Ada changed the account: monthly budget, alert thresholds',
  )
  assert.equal(tell({ action: 'session.started', subject: 'sess_1' }), 'Ada signed in')
  const tested = { provider: 'openai', ok: false, status: 401 }
  assert.equal(tell({ action: 'provider.tested', details: tested }), 'Ada tested provider “openai”')
  assert.equal(tell({ action: 'credit.given', details: { usd: 5, kind: 'grant' } }), 'Ada entered $5 of credit (grant)')
})

test('guardrails, telemetry and captured content are told', () => {
  const named = { name: 'House rules' }
  assert.equal(tell({ action: 'guardrail.changed', details: named }), 'Ada changed guardrail “House rules”')
  assert.equal(
    tell({ action: 'telemetry_destination.created', details: { name: 'Ours' } }),
    'Ada added telemetry destination “Ours”',
  )
  assert.equal(tell({ action: 'content.viewed' }), 'Ada read the prompt and answer of a request')
})

test('teams and budgets are told with who and what they are about', () => {
  assert.equal(tell({ action: 'team.created', details: { name: 'Search' } }), 'Ada created team “Search”')
  const added = { user: 'user_1', role: 'viewer' }
  assert.equal(tell({ action: 'team.member_added', details: added }), 'Ada added Ada to a team as viewer')
  const tag = { level: 'tag', subject: 'customer=northwind', budgets: [] }
  assert.equal(tell({ action: 'budgets.changed', details: tag }), 'Ada set the budgets of the tag customer=northwind')
  const raise = { usd: '60', reason: 'Load test' }
  assert.equal(tell({ action: 'budget.raised', details: raise }), 'Ada raised a budget by $60: Load test')
})

test('who is not a person is told as what they are', () => {
  const by = (kind: string, id: string | null, name: string | null) => tell({ actor: { kind, id, name } })
  assert.equal(by('key', 'key_1', null), 'Key “CI” revoked key “CI”')
  assert.equal(by('token', 'dev_1', 'ada@example.com'), 'A device of ada@example.com revoked key “CI”')
  assert.equal(by('command_line', null, 'root'), 'The command line (root) revoked key “CI”')
  assert.equal(by('system', null, 'operator'), 'The operator revoked key “CI”')
  assert.equal(by('system', null, null), 'The gateway revoked key “CI”')
  assert.equal(by('session', 'user_9', null), 'Somebody revoked key “CI”')
})

test('what was refused is told as tried', () => {
  const denied = { result: 'denied', action: 'key.created', subject: null, details: { param: 'scopes' } }
  assert.equal(tell(denied), 'Ada tried to create a key, which exceeds their rights (scopes)')
  assert.equal(
    tell({ action: 'member.role_changed', result: 'denied', subject: 'user_2', details: { role: 'owner' } }),
    'Ada tried to make somebody owner, which was rejected',
  )
  const refused = {
    action: 'sign_in.refused',
    result: 'denied',
    details: { reason: 'not_invited', provider: 'Example' },
  }
  assert.equal(tell(refused), 'Ada could not sign in: not invited')
})

test('an action of a newer gateway, or one called as what every object has, is told by its own name', () => {
  assert.equal(tell({ action: 'agent.thrown_out' }), 'Ada: agent thrown out')
  assert.equal(tell({ action: 'constructor' }), 'Ada: constructor')
})

test('every action that is known has a sentence of its own', () => {
  assert.ok(KNOWN_ACTIONS.length > 20)
  for (const action of KNOWN_ACTIONS) assert.doesNotMatch(tell({ action }), /^Ada: |undefined/, action)
  assert.equal(actionName('member.role_changed'), 'Member role changed')
})
