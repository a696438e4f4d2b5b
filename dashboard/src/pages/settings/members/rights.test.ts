import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as server from '../../../../../src/domain/identity/caller.ts'
import { mayGiveAll, RIGHTS, ROLES, rightsOfRole, rolesToGive, SCOPES, sentenceOfRight } from './rights.ts'

test('the words are those of the gateway’s own table of rights', () => {
  const words = Object.entries(RIGHTS).map(([right, { may, roles }]) => [right, { may, roles: [...roles] }])
  const own = Object.entries(server.RIGHTS).map(([right, { may, roles }]) => [right, { may, roles: [...roles] }])
  assert.deepEqual(Object.fromEntries(words), Object.fromEntries(own))
  assert.deepEqual([...ROLES], [...server.ROLES])
  assert.deepEqual([...SCOPES, 'operator'], [...server.SCOPES])
})

test('only who has every right of an account gives full access', () => {
  for (const role of ROLES) {
    const rights = server.rightsOfRole(role)
    assert.deepEqual(new Set(rightsOfRole(role)), rights)
    assert.equal(mayGiveAll(rights), role === 'owner' || role === 'admin', role)
  }
})

test('admins give every role but owner, and who does not manage members gives none', () => {
  assert.deepEqual(rolesToGive('admin'), ['admin', 'developer', 'billing'])
  assert.deepEqual(rolesToGive('owner'), [...ROLES])
  assert.deepEqual(rolesToGive('developer'), [])
})

test('a right that is not known is called by its name, also one that is on every object', () => {
  assert.equal(sentenceOfRight('chat'), 'Call models, at the account’s cost.')
  assert.equal(sentenceOfRight('toString'), 'ToString.')
})
