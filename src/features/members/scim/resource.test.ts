/** Runs on one database. PATCH and filters by the examples of RFC 7644, and as Okta and Entra write them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyPatch, emailOf, nameOf, parseFilter, readActive, ScimError } from './resource.ts'

const patch = (resource: object, ...Operations: object[]) =>
  applyPatch({ ...resource }, { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations })

const babs = { value: '2819c223', display: 'Babs Jensen' }
const james = { value: '08e1d05d', display: 'James Smith' }

test('RFC 7644, 3.5.2.1: adds a member to a group, once', () => {
  const add = { op: 'add', path: 'members', value: [babs] }
  assert.deepEqual(patch({ displayName: 'A' }, add, add), { displayName: 'A', members: [babs] })
})

test('RFC 7644, 3.5.2.1: adds attributes without a path', () => {
  const value = { emails: [{ value: 'babs@jensen.org', type: 'home' }], nickname: 'Babs' }
  assert.deepEqual(patch({ userName: 'b' }, { op: 'add', value }), { userName: 'b', ...value })
})

test('RFC 7644, 3.5.2.2: removes one member, all members, and a value by a filter', () => {
  const group = { displayName: 'A', members: [babs, james] }
  assert.deepEqual(patch(group, { op: 'remove', path: 'members[value eq "2819c223"]' })['members'], [james])
  assert.deepEqual(patch(group, { op: 'remove', path: 'members' }), { displayName: 'A' })
  const emails = [
    { type: 'work', value: 'a@example.com' },
    { type: 'home', value: 'b@example.com' },
  ]
  const path = 'emails[type eq "work" and value eq "a@example.com"]'
  assert.deepEqual(patch({ emails }, { op: 'remove', path })['emails'], [emails[1]])
})

test('RFC 7644, 3.5.2.3: replaces all members, an address by its type, and one of its attributes', () => {
  assert.deepEqual(patch({ members: [babs] }, { op: 'replace', path: 'members', value: [james] })['members'], [james])
  const addresses = [{ type: 'work', street: 'Old', zip: '1' }]
  assert.deepEqual(
    patch({ addresses }, { op: 'replace', path: 'addresses[type eq "work"].street', value: 'New' })['addresses'],
    [{ type: 'work', street: 'New', zip: '1' }],
  )
  assert.deepEqual(
    patch({ name: { givenName: 'B' } }, { op: 'replace', value: { name: { familyName: 'J' } } })['name'],
    {
      givenName: 'B',
      familyName: 'J',
    },
  )
})

test('Entra: capital letters, booleans as text, dotted names, values to remove, the enterprise extension', () => {
  const user = { userName: 'a', active: true }
  assert.equal(readActive(patch(user, { op: 'Replace', path: 'active', value: 'False' })['active']), false)
  assert.deepEqual(patch(user, { op: 'Add', value: { 'name.givenName': 'Ada', displayName: 'Ada' } }), {
    ...user,
    name: { givenName: 'Ada' },
    displayName: 'Ada',
  })
  assert.deepEqual(patch(user, { op: 'Add', path: 'emails[type eq "work"].value', value: 'a@example.com' })['emails'], [
    { type: 'work', value: 'a@example.com' },
  ])
  const group = { members: [babs, james] }
  assert.deepEqual(patch(group, { op: 'Remove', path: 'members', value: [{ value: '2819c223' }] })['members'], [james])
  const urn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
  assert.deepEqual(patch(user, { op: 'Add', path: `${urn}:department`, value: 'R&D' })[urn], { department: 'R&D' })
})

test('Okta: replaces attributes without a path', () => {
  assert.deepEqual(patch({ userName: 'a', active: true }, { op: 'replace', value: { active: false } }), {
    userName: 'a',
    active: false,
  })
})

test('what is no PATCH is rejected with the type that the RFC gives it', () => {
  const wrong: readonly [object, string][] = [
    [{ op: 'move', path: 'a' }, 'invalidSyntax'],
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'add', path: 'a[b', value: 1 }, 'invalidPath'],
    [{ op: 'add', value: 'text' }, 'invalidValue'],
    [{ op: 'add', path: 'emails[type co "x"].value', value: '' }, 'invalidFilter'],
  ]
  for (const [operation, scimType] of wrong) {
    assert.throws(
      () => patch({}, operation),
      (error) => error instanceof ScimError && error.status === 400 && error.scimType === scimType,
    )
  }
})

test('filters compare with eq, in any case, also values with quotes and the word and', () => {
  assert.deepEqual(parseFilter('userName Eq "a \\"and\\" b"'), [{ attribute: 'username', value: 'a "and" b' }])
  assert.deepEqual(parseFilter('id eq "x y" and members eq "z"'), [
    { attribute: 'id', value: 'x y' },
    { attribute: 'members', value: 'z' },
  ])
  assert.deepEqual(parseFilter('urn:ietf:params:scim:schemas:core:2.0:User:externalId eq "1"'), [
    { attribute: 'externalid', value: '1' },
  ])
  for (const text of ['userName sw "a"', 'userName', 'a eq "x" or b eq "y"', 'not (a eq "b")']) {
    assert.throws(() => parseFilter(text), ScimError, text)
  }
})

test('the address is the primary one, and the name what there is', () => {
  const emails = [{ value: 'x@example.com' }, { value: 'y@example.com', primary: true }]
  assert.equal(emailOf({ emails }), 'y@example.com')
  assert.equal(emailOf({ emails: [{ value: 'x@example.com' }] }), 'x@example.com')
  assert.equal(nameOf({ name: { givenName: 'Ada', familyName: 'Lovelace' } }), 'Ada Lovelace')
  assert.equal(nameOf({ displayName: 'Countess', name: { formatted: 'Ada' } }), 'Countess')
})
