import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage } from '../../domain/chat.ts'
import { createAffinity, LONG_PREFIX_LENGTH, MAX_PREFIX_LENGTH, MAX_REMEMBERED, promptPrefixOf } from './affinity.ts'
import { createCredentialHealth } from './credentials.ts'
import type { DeploymentHealth } from './health.ts'

const prefix = (messages: readonly ChatMessage[], accountId = 'acc_1', model = 'm1') =>
  promptPrefixOf({ accountId, request: { model, messages } })
const system = (content: string): ChatMessage => ({ role: 'system', content })
const user = (content: ChatMessage['content'] = 'hello'): ChatMessage => ({ role: 'user', content: content ?? null })
const said: ChatMessage = { role: 'assistant', content: 'hi' }

test('a prefix consists of the account, the model, the system messages and the first user message', () => {
  const first = prefix([system('Be kind.'), user()])
  assert.equal(prefix([system('Be kind.'), user(), said, user('more')]).key, first.key)
  for (const other of [
    prefix([system('Be brief.'), user()]),
    prefix([system('Be kind.'), user('hello!')]),
    prefix([{ role: 'developer', content: 'Be kind.' }, user()]),
    prefix([system('Be kind.hello'), user('')]),
    prefix([system('Be kind.'), user()], 'acc_2'),
    prefix([system('Be kind.'), user()], 'acc_1', 'm2'),
    prefix([system('Be kind.'), user([{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }])]),
  ]) {
    assert.notEqual(other.key, first.key)
  }
})

test('a prompt may be cached if it contains an answer or a system message, or if its prefix is long', () => {
  const prompts = [[user()], [user(), said, user()], [system('Be kind.'), user()]]
  assert.deepEqual(
    prompts.map((messages) => prefix(messages).recurring),
    [false, true, true],
  )
  assert.equal(prefix([system('x'.repeat(LONG_PREFIX_LENGTH - 6)), user()]).long, false)
  assert.equal(prefix([system('x'.repeat(LONG_PREFIX_LENGTH)), user()]).long, true)
})

test('OVL-1: 16 KiB of a prefix and its length are hashed [limit: conversation-head]', () => {
  const text = 'x'.repeat(MAX_PREFIX_LENGTH)
  assert.equal(prefix([user(`${text}a`)]).key, prefix([user(`${text}b`)]).key)
  assert.notEqual(prefix([user(`${text}a`)]).key, prefix([user(`${text}ab`)]).key)
})

test('OVL-1: the 20 000 most recently used conversations are remembered [limit: conversations]', () => {
  const affinity = createAffinity()
  const deployment = { model: 'm' } as DeploymentHealth // only its identity counts here
  const sticky = { deployment, credential: createCredentialHealth() }
  const keyed = (key: string) => ({ key, seed: 0, recurring: true, long: true })
  for (let i = 0; i <= MAX_REMEMBERED; i++) {
    affinity.remember(keyed(String(i)), sticky)
    affinity.targetOf(keyed('0'))
  }
  assert.equal(affinity.targetOf(keyed('0')), sticky)
  assert.equal(affinity.targetOf(keyed('1')), undefined)
})
