import assert from 'node:assert/strict'
import { test } from 'node:test'
import { domainRefusal, groupsIn, vouchedIdentity } from './provider.ts'

const ISSUER = 'https://login.example.com'
const ADA = { sub: '1815', email: 'ada@example.com', email_verified: true, name: 'Ada' }

const identityOf = (claims: Readonly<Record<string, unknown>>) => vouchedIdentity(ISSUER, { ...ADA, ...claims })

test('OIDC-2: issuer and subject identify a person; the e-mail address is a label', () => {
  assert.deepEqual(identityOf({}), {
    issuer: ISSUER,
    subject: '1815',
    email: 'ada@example.com',
    emailVerified: true,
    name: 'Ada',
  })
})

test('an address is verified only if the provider reports it for this address', () => {
  for (const said of [true, 'true']) assert.equal(identityOf({ email_verified: said }).emailVerified, true)
  for (const said of [undefined, false, 'false', 1, 'yes', null, {}]) {
    assert.equal(identityOf({ email_verified: said }).emailVerified, false)
  }
  const named = identityOf({ email: undefined, preferred_username: 'ada@corp.example' })
  assert.deepEqual([named.email, named.emailVerified], ['ada@corp.example', false])
})

test('invalid subjects and addresses are rejected', () => {
  for (const sub of [undefined, '', 5, 'x'.repeat(256)]) assert.throws(() => identityOf({ sub }), /no usable subject/)
  for (const email of [undefined, '', 'ada', 'a@b@c', '"a b"@c', 'a\u202e@b', '<a@b>', `${'x'.repeat(250)}@b.de`, 7]) {
    assert.throws(() => identityOf({ email }), /no e-mail address/)
  }
})

test('a subject has at most 255 characters, an address 254; a name is truncated at 200 [limit: claims]', () => {
  const [sub, email] = ['s'.repeat(255), `${'x'.repeat(249)}@b.de`]
  const { subject, email: address, name } = identityOf({ sub, email, name: 'n'.repeat(201) })
  assert.deepEqual([subject, address, name], [sub, email, 'n'.repeat(200)])
  assert.throws(() => identityOf({ sub: `${sub}s` }), /no usable subject/)
  assert.throws(() => identityOf({ email: `x${email}` }), /no e-mail address/)
})

test('groups are the texts of the claim; a claim that is kept elsewhere says nothing of them', () => {
  assert.deepEqual(groupsIn({ groups: ['search', 7, 'finance'] }, 'groups'), ['search', 'finance'])
  assert.deepEqual(groupsIn({ roles: 'admin' }, 'roles'), ['admin'])
  assert.deepEqual(groupsIn({}, 'groups'), [])
  assert.equal(groupsIn({ _claim_names: { groups: 'src1' } }, 'groups'), undefined)
})

test('a name has no invisible characters, and defaults to the address', () => {
  assert.equal(identityOf({ name: ' A\u0000d\u202ea\r\n ' }).name, 'Ada')
  assert.equal(identityOf({ name: 'x'.repeat(5_000) }).name.length, 200)
  for (const name of [undefined, '', '\u0007', 5]) assert.equal(identityOf({ name }).name, 'ada@example.com')
})

test('an allowed domain matches exactly, and requires a verified address', () => {
  const refusal = (claims: Readonly<Record<string, unknown>>) => domainRefusal(identityOf(claims), ['Example.com'])
  assert.equal(refusal({}), undefined)
  assert.equal(refusal({ email: 'Ada@EXAMPLE.COM' }), undefined)
  assert.equal(refusal({ email_verified: false }), 'unverified')
  assert.equal(refusal({ email_verified: undefined }), 'unverified')
  for (const email of [
    'a@evil-example.com',
    'a@sub.example.com',
    'a@example.com.evil',
    'a@example.co',
    'example.com@b',
  ]) {
    assert.equal(refusal({ email }), 'domain', email)
  }
  assert.equal(domainRefusal(identityOf({ email_verified: false }), []), undefined)
})
