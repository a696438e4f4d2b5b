import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage } from '../../domain/chat.ts'
import { createAffinity, headOf, LONG_HEAD_LENGTH, MAX_HEAD_LENGTH, MAX_REMEMBERED } from './affinity.ts'
import { createCredentialHealth } from './credential.ts'
import type { DeploymentHealth } from './health.ts'

const head = (messages: readonly ChatMessage[], accountId = 'acc_1', model = 'm1') =>
  headOf({ accountId, request: { model, messages } })
const system = (content: string): ChatMessage => ({ role: 'system', content })
const user = (content: ChatMessage['content'] = 'hello'): ChatMessage => ({ role: 'user', content: content ?? null })
const said: ChatMessage = { role: 'assistant', content: 'hi' }

test('a head is the account, the model, what the system says and what the user says first', () => {
  const first = head([system('Be kind.'), user()])
  assert.equal(head([system('Be kind.'), user(), said, user('more')]).key, first.key)
  for (const other of [
    head([system('Be brief.'), user()]),
    head([system('Be kind.'), user('hello!')]),
    head([{ role: 'developer', content: 'Be kind.' }, user()]),
    head([system('Be kind.hello'), user('')]),
    head([system('Be kind.'), user()], 'acc_2'),
    head([system('Be kind.'), user()], 'acc_1', 'm2'),
    head([system('Be kind.'), user([{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }])]),
  ]) {
    assert.notEqual(other.key, first.key)
  }
})

test('a prompt may be kept somewhere when there was an answer before, when a system speaks in it, or when its head is long', () => {
  const prompts = [[user()], [user(), said, user()], [system('Be kind.'), user()]]
  assert.deepEqual(
    prompts.map((messages) => head(messages).recurring),
    [false, true, true],
  )
  assert.equal(head([system('x'.repeat(LONG_HEAD_LENGTH - 6)), user()]).long, false)
  assert.equal(head([system('x'.repeat(LONG_HEAD_LENGTH)), user()]).long, true)
})

test('OVL-1: 16 KiB of a head are looked at, and its length [limit: conversation-head]', () => {
  const text = 'x'.repeat(MAX_HEAD_LENGTH)
  assert.equal(head([user(`${text}a`)]).key, head([user(`${text}b`)]).key)
  assert.notEqual(head([user(`${text}a`)]).key, head([user(`${text}ab`)]).key)
})

test('OVL-1: 20 000 conversations are remembered, the ones used last [limit: conversations]', () => {
  const affinity = createAffinity()
  const deployment = { model: 'm' } as DeploymentHealth // only its identity counts here
  const home = { deployment, credential: createCredentialHealth() }
  const keyed = (key: string) => ({ key, seed: 0, recurring: true, long: true })
  for (let i = 0; i <= MAX_REMEMBERED; i++) {
    affinity.remember(keyed(String(i)), home)
    affinity.homeOf(keyed('0'))
  }
  assert.equal(affinity.homeOf(keyed('0')), home)
  assert.equal(affinity.homeOf(keyed('1')), undefined)
})
