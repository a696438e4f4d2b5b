import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, draftOf, limitsText, missingOf, NEW_TEAM, policyTextOf } from './draft.ts'
import type { Team } from './queries.ts'

const TEAM: Team = {
  ...{ id: 'team_1', object: 'team', name: 'Search', models: ['m1', 'm2'], endpoints: ['chat'] },
  ...{
    requests_per_minute: 1_600,
    created_at: '',
    archived_at: null,
    budgets: [],
    data_policy: { zdr: true, regions: ['eu', 'ch'] },
    tags: { customer: 'northwind', env: 'prod' },
    require_tags: ['session'],
  },
}

test('a team is sent as it was read, and all is an empty list', () => {
  const { name, models, endpoints, requests_per_minute, data_policy, tags, require_tags } = TEAM
  const sent = { name, models, endpoints, requests_per_minute, data_policy, tags, require_tags }
  assert.deepEqual(bodyOf(draftOf(TEAM)), sent)
  const open = { ...NEW_TEAM, name }
  const none = { models: [], endpoints: [], requests_per_minute: null, data_policy: null, tags: {}, require_tags: [] }
  assert.deepEqual(bodyOf(open), { name, ...none })
})

test('a team needs a name, and at least one of what is selected', () => {
  assert.equal(missingOf(NEW_TEAM), 'Enter a name.')
  const named = { ...NEW_TEAM, name: 'Search' }
  assert.equal(missingOf(named), undefined)
  assert.equal(missingOf({ ...named, allModels: false }), 'Choose at least one model.')
  assert.equal(missingOf({ ...named, allEndpoints: false }), 'Choose at least one endpoint.')
  assert.notEqual(missingOf({ ...named, requestsPerMinute: '1.5' }), undefined)
  assert.match(missingOf({ ...named, tags: 'Env' }) ?? '', /^“Env” is not key=value/)
  assert.match(missingOf({ ...named, requiredTags: 'env=prod' }) ?? '', /^“env=prod” is not the key of a tag/)
})

test('limits are told in short', () => {
  assert.equal(limitsText(TEAM), '2 models · Chat completions · 1,600/min')
  assert.equal(limitsText({ models: [], endpoints: [], requests_per_minute: null }), undefined)
})

test('a data policy is told in words, and none without a demand', () => {
  assert.equal(policyTextOf(TEAM), 'Zero data retention, in eu or ch')
  const strict = { ...NEW_TEAM, noTraining: true, regions: '' }
  assert.deepEqual(bodyOf(strict).data_policy, { data_collection: 'deny' })
  assert.equal(policyTextOf({ data_policy: { data_collection: 'deny' } }), 'No training on data')
  assert.equal(policyTextOf({ data_policy: { data_collection: 'allow', zdr: false } }), undefined)
})
