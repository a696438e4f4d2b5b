/** More than four stop sequences: every host receives all that it takes, and refuses more than that before it is called. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../domain/errors.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/request.ts'
import { PROVIDERS } from './index.ts'

/** The most that a request may have, for hosts without a limit of their own. */
const MOST = 64
/** Of the OpenAI API, and of hosts of its protocol that document no other. */
const USUAL = 4
const LIMITS: Readonly<Record<string, number>> = {
  anthropic: MOST,
  bedrock: MOST,
  deepseek: 16,
  google: 5,
  'llama-cpp': MOST,
  ollama: MOST,
  sglang: MOST,
  vertex: 5,
  vllm: MOST,
}

const stopsOf = (count: number) => Array.from({ length: count }, (_, index) => `END${index}`)

/** The body that is sent. */
function render(host: string, count: number) {
  const { protocol } = PROVIDERS[host] ?? assert.fail(host)
  const messages = [{ role: 'user', content: 'Hi' }]
  const request = parseChatRequest({ model: 'm', messages, stop: stopsOf(count) })
  const target = { model: 'm', price: undefined, forwardUnknown: false, maxOutputTokens: 8192 }
  const { body, warnings } = protocol.renderRequest(request, target)
  assert.deepEqual(warnings, [], host)
  return JSON.parse(body)
}

for (const host of Object.keys(PROVIDERS)) {
  const limit = LIMITS[host] ?? USUAL
  test(`${host} receives ${limit} stop sequences`, () => {
    for (const count of [1, USUAL, limit]) {
      const body = render(host, count)
      const { stop, stop_sequences, generationConfig, inferenceConfig } = body
      const sent = stop ?? stop_sequences ?? generationConfig?.stopSequences ?? inferenceConfig?.stopSequences
      assert.deepEqual(sent, stopsOf(count))
    }
  })

  if (limit < MOST) {
    test(`${host} refuses ${limit + 1} stop sequences with the limit`, () => {
      assert.throws(
        () => render(host, limit + 1),
        (error) => {
          assert.ok(error instanceof GatewayError)
          assert.deepEqual([error.status, error.code, error.param], [422, 'unsupported_parameter', 'stop'])
          assert.match(error.message, new RegExp(`at most ${limit} stop sequences, not ${limit + 1}\\.`))
          return true
        },
      )
    })
  }
}

test('the simulator, whose answers are made here, is among the hosts', () => {
  assert.ok('simulator' in PROVIDERS && Object.keys(LIMITS).every((host) => host in PROVIDERS))
})
