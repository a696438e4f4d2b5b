import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AttributionSources,
  attributionOf,
  endUserHash,
  endUserOf,
  readAttributionHeaders,
  storedAttribution,
  tagsOfText,
  tagsText,
} from './attribution.ts'
import type { AccountId } from './ids.ts'

const ACCOUNT = 'acc_a' as AccountId

function read(over: Partial<Omit<AttributionSources, 'caller'>> & { readonly caller?: object } = {}) {
  return attributionOf({ headers: undefined, body: {}, ...over, caller: { accountId: ACCOUNT, ...over.caller } })
}
const tagsOf = (over: Parameters<typeof read>[0]) => read(over).attribution?.tags
const withTags = (tags: string) => ({ headers: { tags } })
const refused = (over: Parameters<typeof read>[0], code: string) =>
  assert.throws(() => read(over), { code, param: 'x-turnpike-tags' })

test('a request that says nothing has no attribution', () => {
  assert.deepEqual(read(), { attribution: undefined, ignored: [] })
  assert.deepEqual(read({ body: 'not an object' }), { attribution: undefined, ignored: [] })
  assert.equal(readAttributionHeaders({ authorization: 'Bearer x' }), undefined)
})

test('tags of the header are sorted by key', () => {
  assert.deepEqual(tagsOf(withTags(' env=prod ,customer=acme')), ['customer=acme', 'env=prod'])
  assert.deepEqual(tagsOf(withTags('a.b:c_d-1=x.y:z_0-9')), ['a.b:c_d-1=x.y:z_0-9'])
})

test('a header that breaks a rule is rejected [limit: tags]', () => {
  const long = (length: number) => 'a'.repeat(length)
  assert.deepEqual(tagsOf(withTags(`${long(32)}=${long(64)}`)), [`${long(32)}=${long(64)}`])
  const eleven = Array.from({ length: 11 }, (_, at) => `k${at}=v`).join(',')
  const wrong = ['', 'customer', 'customer=', '=acme', 'Customer=acme', 'a=b=c', 'a=b,,c=d', 'a=b,a=c', 'a=ü', eleven]
  for (const tags of [...wrong, `${long(33)}=x`, `x=${long(65)}`]) refused(withTags(tags), 'invalid_header')
})

test('metadata gives tags, and what is no tag is ignored by name', () => {
  const metadata = { customer: 'acme', Topic: 'x', note: 'Two words', count: 3, user_id: 'u-1' }
  const { attribution, ignored } = read({ body: { metadata } })
  assert.deepEqual(attribution?.tags, ['customer=acme'])
  assert.deepEqual(ignored, ['metadata.Topic', 'metadata.note', 'metadata.count'])
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`k${at}`, 'v']))
  assert.equal(read({ body: { metadata: many } }).attribution?.tags.length, 10)
  assert.deepEqual(read({ body: { metadata: many } }).ignored, ['metadata.k10', 'metadata.k11'])
})

test('metadata beyond the rules of tags is no error, unless the key requires it', () => {
  const rules = { a: 'x'.repeat(64), b: 'x'.repeat(65), ['k'.repeat(32)]: '1', ['k'.repeat(33)]: '1', empty: '' }
  const { attribution, ignored } = read({ body: { metadata: rules } })
  assert.deepEqual(attribution?.tags, [`a=${'x'.repeat(64)}`, `${'k'.repeat(32)}=1`])
  assert.deepEqual(ignored, ['metadata.b', `metadata.${'k'.repeat(33)}`, 'metadata.empty'])
  const caller = { requireTags: ['customer'] }
  const body = { metadata: { customer: 'Two words' } }
  refused({ caller, body }, 'missing_field')
})

test('the header replaces metadata, and metadata replaces the defaults of the key', () => {
  const caller = { tags: ['customer=key', 'env=key', 'team=key'] }
  const body = { metadata: { customer: 'body', env: 'body' } }
  assert.deepEqual(tagsOf({ caller, body, headers: { tags: 'customer=header' } }), [
    'customer=header',
    'env=body',
    'team=key',
  ])
  refused({ caller, headers: { tags: Array.from({ length: 8 }, (_, at) => `k${at}=v`).join(',') } }, 'invalid_header')
})

test('a tag that the key requires must come from anywhere', () => {
  const caller = { requireTags: ['customer'] }
  refused({ caller }, 'missing_field')
  refused({ caller, headers: { tags: 'env=prod' } }, 'missing_field')
  assert.deepEqual(tagsOf({ caller, body: { metadata: { customer: 'acme' } } }), ['customer=acme'])
  assert.deepEqual(tagsOf({ caller: { ...caller, tags: ['customer=own'] } }), ['customer=own'])
})

test('the end user is stored as a hash of the account', () => {
  const ofBody = (body: object) => read({ body }).attribution?.endUser
  const hash = endUserHash(ACCOUNT, 'alice@example.com')
  assert.match(hash, /^[0-9a-f]{32}$/)
  assert.notEqual(hash, endUserHash('acc_b' as AccountId, 'alice@example.com'))
  for (const body of [
    { user: 'alice@example.com' },
    { safety_identifier: 'alice@example.com', user: 'other' },
    { metadata: { user_id: 'alice@example.com' } },
  ])
    assert.equal(ofBody(body), hash)
  assert.equal(ofBody({ user: '' }), undefined)
  assert.equal(endUserOf(ACCOUNT, hash), hash)
  assert.equal(endUserOf(ACCOUNT, 'alice@example.com'), hash)
})

test('the session comes from the headers of coding agents; what is no name is ignored', () => {
  const session = (headers: Record<string, string>) => readAttributionHeaders(headers)?.session
  assert.equal(session({ 'x-claude-code-session-id': '0f3a-1' }), '0f3a-1')
  assert.equal(session({ session_id: 'thread-7' }), 'thread-7')
  assert.equal(session({ 'x-turnpike-session': 'own', session_id: 'other' }), 'own')
  assert.equal(session({ session_id: 'two words' }), undefined)
  assert.equal(read({ headers: { session: 's1' } }).attribution?.session, 's1')
})

test('what is stored reads as it was written', () => {
  const tags = ['customer=acme', 'env=prod']
  const text = tagsText(tags) ?? null
  assert.deepEqual(tagsOfText(text), { customer: 'acme', env: 'prod' })
  assert.deepEqual(tagsOfText(null), {})
  assert.deepEqual(storedAttribution({ tags: text, session_id: 's', end_user: null }), {
    tags,
    session: 's',
    endUser: undefined,
  })
  assert.equal(storedAttribution({ tags: null, session_id: null, end_user: null }), undefined)
})
