/**
 * What each host of the OpenAI dialect is sent, to the letter: `fixtures/requests.json` has what clients say, the file
 * of each host the body, or the refusal, that must come of it.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { GOLDEN_FOLDER, type Golden, readGolden, sentBy, standardRequests } from '../../scripts/golden-requests.ts'
import type { ChatRequest } from '../../src/domain/chat.ts'
import { GatewayError } from '../../src/domain/errors.ts'
import { parseChatRequest } from '../../src/protocols/openai-chat/client/request.ts'
import { PROVIDERS } from '../../src/providers/index.ts'

/** The format's name is shared with servers that are only compatible; others of it have tests of their own. */
const OTHER_TESTS = new Set(['azure', 'simulator'])

const requests = standardRequests()
const hosts = readdirSync(GOLDEN_FOLDER)
  .filter((file) => file !== 'requests.json')
  .map((file) => file.replace('.json', ''))

for (const host of hosts) {
  const golden = readGolden<Golden>(`${host}.json`)
  const protocol = PROVIDERS[host]?.protocol
  test(`golden: ${host} receives what its file says`, () => {
    assert.ok(protocol)
    assert.equal(protocol.severalChoices, golden.severalChoices)
    assert.deepEqual(Object.keys(golden.requests), Object.keys(requests))
    for (const [name, request] of Object.entries(requests)) {
      assert.deepEqual(sentBy(protocol, request), golden.requests[name], name)
    }
  })
}

test('golden: every host of the format has its file', () => {
  const speakers = Object.values(PROVIDERS).filter(
    ({ protocol, hasChat }) => protocol.id === 'openai-chat' && hasChat !== false,
  )
  const missing = speakers.filter(({ id }) => !hosts.includes(id) && !OTHER_TESTS.has(id))
  assert.deepEqual(
    missing.map(({ id }) => id),
    [],
  )
})

test('golden: a stream requests usage, or the host sends it without a request', () => {
  const unasked = hosts.filter((host) => {
    const { body } = readGolden<Golden>(`${host}.json`).requests['stream'] as {
      readonly body: { readonly stream_options?: unknown }
    }
    return body.stream_options === undefined
  })
  assert.deepEqual(unasked.sort(), ['mistral', 'zai'])
})

interface Said {
  readonly content?: unknown
  readonly refusal?: unknown
}

/** The parameters of some of the requests together, over the conversation of one. */
const mixed = fc
  .tuple(fc.constantFrom(...Object.values(requests)), fc.subarray(Object.values(requests)))
  .map(([conversation, parameters]) => Object.assign({}, ...(parameters as object[]), messagesOf(conversation)))

function messagesOf(request: unknown): object {
  return { messages: (request as { readonly messages: unknown }).messages }
}

/** All that is said in a conversation, in no order: messages may be moved and joined. */
function wordsOf(messages: unknown): string[] {
  const words = JSON.stringify(messages).match(/[A-Z][a-z]+|AAAA|iVBOR\w+|https:[^"]+|call\w+/g) ?? []
  return words.sort()
}

test('golden: no combination of parameters makes a host’s codec throw other errors, or lose a parameter', () => {
  fc.assert(
    fc.property(mixed, fc.constantFrom(...hosts), (request, host) => {
      const protocol = PROVIDERS[host]?.protocol
      assert.ok(protocol)
      const client = acceptedByUs(request)
      if (client === undefined) return
      const sent = sentBy(protocol, request)
      if ('refused' in sent) return
      const body = sent.body as { readonly model: unknown; readonly messages: readonly Said[] }
      assert.equal(body.model, 'theirs')
      assert.equal(JSON.stringify(body).includes('provider_context'), false)
      const said = body.messages.map(({ content, refusal }) => ({ content: content ?? refusal }))
      const asked = client.messages.map(({ content, refusal }) => ({ content: content ?? refusal }))
      for (const word of wordsOf(asked)) assert.ok(wordsOf(said).includes(word), word)
    }),
    { numRuns: 2_000 },
  )
})

/** Some parameters do not go together: those are refused before any host is asked. */
function acceptedByUs(request: unknown): ChatRequest | undefined {
  try {
    return parseChatRequest(request)
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return undefined
  }
}
