import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { toChatRequest } from '../../../test/support/providers/gemini-request.ts'
import type { ChatEvent, ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { ProviderError } from '../protocol.ts'
import { gemini } from './index.ts'

// biome-ignore lint/suspicious/noExplicitAny: any JSON is what these tests are about
type Anything = any

const codec = gemini()
const MODELS = ['gemini-3.5-flash', 'gemini-2.5-flash', 'gemini-2.0-flash', 'gemini-4-argon']
const FIXTURES = join(import.meta.dirname, 'fixtures')
const answers = readdirSync(FIXTURES)
  .filter((file) => file.endsWith('.answer.json'))
  .map((file): Anything => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8')))

/** JSON with the words of the format among its names, so that chance gets past the first look. */
const NAMES = [
  'candidates',
  'content',
  'parts',
  'text',
  'thought',
  'thoughtSignature',
  'functionCall',
  'name',
  'args',
  'id',
  'index',
  'partialArgs',
  'willContinue',
  'jsonPath',
  'stringValue',
  'inlineData',
  'mimeType',
  'data',
  'finishReason',
  'error',
  'code',
  'message',
  'status',
  'details',
  'retryDelay',
  'usageMetadata',
  'promptTokenCount',
  'promptFeedback',
  'blockReason',
  'logprobsResult',
  'chosenCandidates',
  'topCandidates',
  'token',
  'responseId',
  'messages',
  'role',
  'tool_calls',
  'function',
  'arguments',
  'provider_context',
  'gemini',
  'signatures',
  'tools',
  'parameters',
  '$ref',
  'allOf',
  'enum',
  'const',
  'items',
]
const WORDS = [
  'STOP',
  'SAFETY',
  'MALFORMED_FUNCTION_CALL',
  '$.a',
  '$.a[0]',
  'image/png',
  '0:3',
  'user',
  'assistant',
  'function',
]
const scalar = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
)
const wild = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, depthSize: 'large' },
    scalar,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 4 })), tie('json'), { maxKeys: 5 }),
  ),
})).json

function failsProperly(action: () => unknown, kind: typeof ProviderError | typeof GatewayError): void {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof kind, String(error instanceof Error ? error.stack : error))
  }
}

function parseAll(body: string): void {
  failsProperly(() => codec.parseResponse(body), ProviderError)
  failsProperly(() => {
    const parser = codec.streamParser()
    const events: ChatEvent[] = []
    for (let time = 0; time < 2; time++) parser.push({ event: '', data: body }, events)
    parser.end(events)
  }, ProviderError)
  const failure = codec.parseError({ status: 400, headers: {}, body }, 0)
  assert.ok(failure.message.length > 0)
}

test('no answer makes the codec throw anything but its own error', () => {
  fc.assert(
    fc.property(wild, (body) => parseAll(JSON.stringify(body))),
    { numRuns: 2000 },
  )
  fc.assert(fc.property(fc.string(), parseAll), { numRuns: 500 })
  for (const name of ['"0":', '"a":']) {
    const deep = `${`{${name}`.repeat(100_000)}1${'}'.repeat(100_000)}`
    parseAll(
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${deep}}}]},"finishReason":"STOP"}]}`,
    )
  }
})

/** The same JSON with one of its nodes replaced. */
function mutated(json: Anything, path: readonly number[], value: unknown): Anything {
  const [step, ...rest] = path
  if (step === undefined || typeof json !== 'object' || json === null) return value
  const keys = Object.keys(json)
  const key = keys[step % Math.max(1, keys.length)] ?? 'new'
  const copy = Array.isArray(json) ? [...json] : { ...json }
  ;(copy as Record<string, unknown>)[key] = mutated(json[key], rest, value)
  return copy
}

test('no answer that is nearly right makes the codec throw anything but its own error', () => {
  const path = fc.array(fc.nat(9), { minLength: 1, maxLength: 7 })
  fc.assert(
    fc.property(fc.constantFrom(...answers), path, wild, (answer, steps, value) => {
      parseAll(JSON.stringify(mutated(answer, steps, value)))
    }),
    { numRuns: 3000 },
  )
})

function withStrangers(json: Anything, name: string, value: unknown): Anything {
  if (Array.isArray(json)) return json.map((each) => withStrangers(each, name, value))
  if (typeof json !== 'object' || json === null) return json
  const entries = Object.entries(json as object).map(([key, each]) => [
    key,
    key === 'args' ? each : withStrangers(each, name, value),
  ])
  return { ...Object.fromEntries(entries), [name]: value }
}

test('unknown fields and unknown parts mean nothing', () => {
  const outcome = (answer: unknown): unknown => {
    try {
      return codec.parseResponse(JSON.stringify(answer))
    } catch (error) {
      assert.ok(error instanceof ProviderError)
      return error.failure
    }
  }
  const name = fc.string({ minLength: 1 }).map((text) => `x-${text}`)
  fc.assert(
    fc.property(fc.constantFrom(...answers), name, fc.jsonValue(), (answer, field, value) => {
      if (answer.responseId === undefined) return
      assert.deepEqual(outcome(withStrangers(answer, field, value)), outcome(answer))
      const parts = answer.candidates?.[0]?.content?.parts
      if (!Array.isArray(parts)) return
      const extended = { candidates: [{ ...answer.candidates[0], content: { parts: [{ [field]: value }, ...parts] } }] }
      const isOne = answer.candidates.length === 1
      if (isOne) assert.deepEqual(outcome({ ...answer, ...extended }), outcome(answer))
    }),
  )
})

test('no request makes the codec throw anything but our own error', () => {
  const part = fc.oneof(wild, fc.record({ type: fc.constant('text'), text: fc.string() }))
  const call = fc.record({
    id: fc.constantFrom('a', 'b'),
    type: fc.constant('function'),
    function: fc.record({
      name: fc.string(),
      arguments: fc.oneof(
        fc.string(),
        wild.map((json) => JSON.stringify(json)),
      ),
    }),
  })
  const message = fc.oneof(
    fc.record({
      role: fc.constantFrom('user', 'system'),
      content: fc.oneof(fc.string(), fc.array(part, { minLength: 1 })),
    }),
    fc.record({
      role: fc.constant('assistant'),
      content: fc.string(),
      tool_calls: fc.array(call, { minLength: 1 }),
      provider_context: wild,
      images: wild,
    }),
    fc.record({
      role: fc.constant('tool'),
      tool_call_id: fc.constantFrom('a', 'b', 'c'),
      content: fc.oneof(
        fc.string(),
        wild.map((json) => JSON.stringify(json)),
      ),
    }),
  )
  const tool = fc.record({
    type: fc.constant('function'),
    function: fc.record({
      name: fc.constantFrom('f', '1f'),
      parameters: fc.dictionary(fc.constantFrom(...NAMES), wild),
    }),
  })
  const request = fc.record(
    {
      model: fc.constant('m'),
      messages: fc.array(message, { minLength: 1 }),
      tools: fc.array(tool, { minLength: 1 }),
      reasoning_effort: fc.constantFrom('none', 'low', 'max'),
      seed: fc.maxSafeInteger(),
    },
    { requiredKeys: ['model', 'messages'] },
  )
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (body, model) => {
      let chat: ChatRequest
      try {
        chat = parseChatRequest(body)
      } catch {
        return
      }
      failsProperly(
        () => JSON.parse(codec.renderRequest(chat, { model, maxOutputTokens: undefined }).body),
        GatewayError,
      )
    }),
    { numRuns: 2000 },
  )
})

const text = fc.string({ minLength: 1 }).filter((value) => value.trim() !== '')
const toolName = fc.constantFrom('search', 'read_file', '_x')
const args = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,6}$/),
  fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
  { maxKeys: 3 },
)
const step = fc.record({
  said: fc.option(text, { nil: undefined }),
  calls: fc.array(fc.tuple(toolName, args), { minLength: 1, maxLength: 3 }),
  signed: fc.boolean(),
})
const turn = fc.record({ asked: text, steps: fc.array(step, { maxLength: 2 }), answer: text })

/** A conversation as a client has it: turns of question, steps with calls and results, answer. */
const conversation = fc.array(turn, { minLength: 1, maxLength: 3 }).map((turns) => {
  const messages: Anything[] = []
  turns.forEach(({ asked, steps, answer }, at) => {
    messages.push({ role: 'user', content: [{ type: 'text', text: asked }] })
    steps.forEach(({ said, calls, signed }, stepAt) => {
      const made = calls.map(([name, value], place) => ({
        id: `c_${at}_${stepAt}_${place}`,
        type: 'function',
        function: { name, arguments: JSON.stringify(value) },
      }))
      const signatures = [{ index: 0, tool_call: made[0]?.id, signature: `s${at}${stepAt}` }]
      messages.push({
        role: 'assistant',
        content: said ?? null,
        tool_calls: made,
        ...(signed && { provider_context: { gemini: { signatures } } }),
      })
      for (const { id } of made)
        messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify({ result: id }) })
    })
    messages.push({ role: 'assistant', content: answer })
  })
  return [...messages, { role: 'user', content: [{ type: 'text', text: 'And now?' }] }]
})

test('a request keeps its meaning on the way to the API and back', () => {
  const settings = fc.record(
    {
      temperature: fc.constantFrom(0, 0.5, 2),
      max_tokens: fc.integer({ min: 1, max: 9999 }),
      stop: fc.array(text, { minLength: 1, maxLength: 4 }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(conversation, settings, (messages, rest) => {
      const request = { model: 'm', messages, ...rest }
      const wire = codec.renderRequest(parseChatRequest(request), {
        model: 'gemini-2.5-flash',
        maxOutputTokens: undefined,
      })
      const back = toChatRequest(JSON.parse(wire.body))
      assert.deepEqual(
        JSON.parse(JSON.stringify('request' in back && back.request)),
        JSON.parse(JSON.stringify(request)),
      )
      assert.deepEqual(wire.warnings, [])
    }),
  )
})
