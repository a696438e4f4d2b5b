/**
 * Presidio (PyPI `presidio-analyzer`) as the HTTP hook of a guardrail, with every chunk boundary of a streamed answer. It is
 * slow: its packages are large, and are installed once per machine, into a virtual environment in the temporary folder.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { CHAT, completionOf, errorOf, hello, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { pythonWith } from '../support/process/python-environment.ts'
import { answerJson, answerStream, chunk, completion, counts, usageChunk } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const PACKAGES = ['presidio-analyzer==2.2.366']
const HOOK = join(import.meta.dirname, '../support/presidio/hook.py')

let script: Script = answerJson(completion({ content: 'ok' }))
const provider = await startFakeProvider((call, reply) => script(call, reply))
const hook = spawn(await pythonWith(PACKAGES), [HOOK], { stdio: ['ignore', 'pipe', 'inherit'] })
const [port] = (await once(createInterface(hook.stdout), 'line')) as [string]
const gateway = await startGateway({
  config: oneModel(provider.url, {}, { guardrails: { allow_private_networks: true } }),
})
after(async () => {
  await gateway.stop()
  await provider.close()
  hook.kill()
})

const key = await gateway.keyOfNewAccount()
const rule = { kind: 'http', url: `http://127.0.0.1:${port}/`, stages: ['pre', 'stream'], timeout_ms: 30_000 }
const made = await send(gateway, '/v1/guardrails', { key, body: { name: 'Presidio', rules: [rule] } })
assert.equal(made.status, 201, made.text)

const ask = (content: string, stream = false) =>
  send(gateway, CHAT, { key, body: hello({ messages: [{ role: 'user', content }], stream }) })

test('what Presidio finds in a prompt is masked before its provider sees it', async () => {
  const before = provider.calls.length
  const { status, text } = await ask('I am ada@example.com, my card is 4111 1111 1111 1111, my host 192.0.2.7.')
  assert.equal(status, 200, text)
  const sent = JSON.parse(provider.calls[before]?.body ?? '') as { readonly messages: readonly { content: string }[] }
  assert.equal(sent.messages[0]?.content, 'I am <EMAIL_ADDRESS>, my card is <CREDIT_CARD>, my host <IP_ADDRESS>.')
})

test('a prompt that it rejects gets 400 with its reason, and nothing is sent', async () => {
  const before = provider.calls.length
  const refused = await ask('My social security number is 536-90-4399.')
  assert.deepEqual([refused.status, errorOf(refused).code], [400, 'content_blocked'])
  assert.match(errorOf(refused).message, /Social security numbers are not allowed/)
  assert.equal(provider.calls.length, before)
})

test('what it finds in an answer is masked, whole and at every boundary of its chunks', async () => {
  const said = 'Write to ada@example.com or pay with 4111 1111 1111 1111.'
  const masked = 'Write to <EMAIL_ADDRESS> or pay with <CREDIT_CARD>.'
  script = answerJson(completion({ content: said }))
  assert.equal(completionOf(await ask('hi')).choices[0]?.message.content, masked)
  for (let at = 1; at < said.length; at++) {
    const pieces = [said.slice(0, at), said.slice(at)].map((content) => chunk({ content }))
    script = answerStream([
      chunk({ role: 'assistant', content: '' }),
      ...pieces,
      chunk({}, 'stop'),
      usageChunk(counts(10, 5)),
    ])
    const { text } = await ask('hi', true)
    let content = ''
    for (const [, json = ''] of text.matchAll(/^data: (\{.*)$/gm))
      content += JSON.parse(json).choices?.[0]?.delta?.content ?? ''
    assert.equal(content, masked, `split at ${at}`)
  }
})
