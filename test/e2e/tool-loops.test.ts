/**
 * Conversations with tools and thinking through the whole gateway, against providers as strict as the real ones: they
 * refuse a missing or foreign signature, a wrong order of turns, a call without its result. Clients that send back what
 * they were given, clients that keep what they know of the format and nothing else; whole and streamed.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import { model, startGateway } from '../support/gateway.ts'
import { answerBytes } from '../support/providers/answers.ts'
import * as claude from '../support/providers/anthropic-fake.ts'
import { awsMessage } from '../support/providers/aws-events.ts'
import * as converse from '../support/providers/bedrock-fake.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { createJudge, THINKING_LOOP as GEMINI_LOOP } from '../support/providers/gemini-judge.ts'
import {
  geminiAnswer,
  geminiFrames,
  messageFrames,
  NATIVES,
  type Native,
  nativeProviders,
  refuseNative,
} from '../support/providers/native-answers.ts'
import * as openai from '../support/providers/responses-fake.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies and messages are any JSON here
type Anything = any

const provider = await startFakeProvider(answerBytes({}, '', 500))
const MODELS = {
  budget: { provider: 'anthropic', model: 'claude-sonnet-4-5' },
  adaptive: { provider: 'anthropic', model: 'claude-opus-4-8' },
  gemini3: { provider: 'google', model: 'gemini-3.5-flash' },
  gemini2: { provider: 'google', model: 'gemini-2.5-flash' },
  bedrock: { provider: 'bedrock', model: NATIVES['bedrock']?.model ?? '' },
  responses: { provider: 'responses', model: 'their-model' },
} as const
type ModelName = keyof typeof MODELS
const PROVIDER_NAMES = [...new Set(Object.values(MODELS).map((each) => each.provider))]

function nativeOf(name: string): Native {
  return NATIVES[name] ?? assert.fail(name)
}

const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url, PROVIDER_NAMES),
    models: Object.entries(MODELS).map(([id, target]) => ({
      ...model(id, target.provider, target.model),
      max_output_tokens: 64_000,
    })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** A provider that holds requests to its rules and plays its part of the conversation. */
interface Strict {
  readonly script: Script
  /** Every body that it took. */
  readonly bodies: Anything[]
  /** Why it refused; must stay empty. */
  readonly refusals: string[]
}

interface Part {
  /** What it would say against the body; undefined when it takes it. */
  refusal(body: Anything): string | undefined
  /** Whole answer and frames. */
  answer(body: Anything): { readonly whole: string; readonly frames: readonly (string | Buffer)[] }
}

function strict(native: Native, part: Part): Strict {
  const bodies: Anything[] = []
  const refusals: string[] = []
  const script: Script = async (call, reply) => {
    const body = JSON.parse(call.body)
    const refusal = part.refusal(body)
    if (refusal !== undefined) {
      refusals.push(refusal)
      return refuseNative(native, 400, refusal)(call, reply)
    }
    bodies.push(body)
    const { whole, frames } = part.answer(body)
    const isStreamed = native.isStreamed(call)
    reply.head(200, { 'content-type': isStreamed ? native.streamType : 'application/json' })
    if (!isStreamed) return reply.end(whole)
    for (const piece of frames) await reply.write(piece)
    reply.end()
  }
  return { script, bodies, refusals }
}

function strictAnthropic(wantsLeadingThinking: boolean): Strict {
  return strict(nativeOf('anthropic'), {
    refusal: (body) => claude.refusalOf(body, { wantsLeadingThinking }),
    answer: ({ messages }) => {
      const turn = messages.filter(({ role }: Anything) => role === 'assistant').length
      const content = claude.THINKING_LOOP[turn] ?? assert.fail()
      const stopReason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
      const usage = { input_tokens: 10, output_tokens: 5 }
      const whole = { id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: stopReason, usage }
      const frames = messageFrames(content, { stopReason, promptTokens: 10, completionTokens: 5 })
      return { whole: JSON.stringify(whole), frames }
    },
  })
}

function strictGemini(demandsSignatures: boolean): Strict {
  const judge = createJudge({ demandsSignatures })
  return strict(nativeOf('google'), {
    refusal: (body) => judge.judge(JSON.stringify(body)),
    answer: ({ contents }) => {
      const turn = contents.filter(({ role }: Anything) => role === 'model').length
      const parts = GEMINI_LOOP[turn] ?? assert.fail()
      judge.gave(parts)
      // Ids are made of the answer's own, so answers must differ in it.
      const responseId = `turn-${turn}`
      const frames = geminiFrames(parts).map((each) => each.replace('answer-1', responseId))
      return { whole: JSON.stringify({ ...geminiAnswer(parts), responseId }), frames }
    },
  })
}

function strictBedrock(): Strict {
  return strict(nativeOf('bedrock'), {
    refusal: (body) => {
      try {
        converse.judgeBody(body)
        return undefined
      } catch (error) {
        return String(error)
      }
    },
    answer: (body) => {
      const events = converse.answerTo(body, 3)
      const pairs = events.flatMap((event) => Object.entries(event))
      return { whole: wholeOf(events), frames: pairs.map(([type, payload]) => awsMessage(type, payload)) }
    },
  })
}

/** Turns of the loop by the results that a request has. */
const TURNS: readonly number[] = [0, 2, 4, 5]

function strictResponses(): Strict {
  return strict(nativeOf('responses'), {
    refusal: openai.refusalOf,
    answer: ({ input }) => {
      const results = input.filter(({ type }: Anything) => type === 'function_call_output').length
      const output = openai.REASONING_LOOP[TURNS.indexOf(results)] ?? assert.fail()
      return {
        whole: JSON.stringify(openai.responseOf(output)),
        frames: openai.responseFrames(openai.responseEvents(output)),
      }
    },
  })
}

/** The same answer in one piece. */
function wholeOf(events: readonly Anything[]): string {
  const blocks: Anything[] = []
  const end: Anything = {}
  for (const { contentBlockStart: start, contentBlockDelta: delta, messageStop: stop, metadata } of events) {
    if (start) blocks[start.contentBlockIndex] = { toolUse: { ...start.start.toolUse, input: '' } }
    if (delta) grow(blocks, delta)
    if (stop) end.stopReason = stop.stopReason
    if (metadata) end.usage = metadata.usage
  }
  for (const { toolUse } of blocks) if (toolUse) toolUse.input = JSON.parse(toolUse.input)
  return JSON.stringify({ output: { message: { role: 'assistant', content: blocks } }, ...end })
}

function grow(blocks: Anything[], { contentBlockIndex: index, delta }: Anything): void {
  const { text = '', toolUse, reasoningContent } = delta
  blocks[index] ??= reasoningContent
    ? { reasoningContent: { reasoningText: { text: '', signature: '' } } }
    : { text: '' }
  const block = blocks[index]
  if (toolUse) block.toolUse.input += toolUse.input
  else if (!reasoningContent) block.text += text
  else {
    block.reasoningContent.reasoningText.text += reasoningContent.text ?? ''
    block.reasoningContent.reasoningText.signature += reasoningContent.signature ?? ''
  }
}

const NAMES = ['look', 'list', 'read'] as const
const TOOLS = NAMES.map((name) => ({
  type: 'function' as const,
  function: {
    name,
    parameters: { type: 'object', properties: { at: { type: 'string' }, step: { type: 'integer' } } },
  },
}))

interface Talk {
  readonly name: ModelName
  readonly streamed: boolean
  /** `x-turnpike-warnings` of each answer. */
  readonly warnings: string[]
}

function recordingFetch(warnings: string[]): typeof fetch {
  return async (...input) => {
    const response = await fetch(...input)
    warnings.push(response.headers.get('x-turnpike-warnings') ?? '')
    return response
  }
}

function sdk(warnings: string[]): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0, fetch: recordingFetch(warnings) })
}

/** The SDK's own loop. */
async function sdkRunner({ name, streamed, warnings }: Talk): Promise<string | null> {
  const tools = TOOLS.map(({ type, function: { name: called, parameters } }) => ({
    type,
    function: {
      name: called,
      parameters,
      parse: JSON.parse,
      function: (input: object) => `seen ${JSON.stringify(input)}`,
    },
  }))
  const body: Anything = { model: name, messages: [USER], tools, reasoning_effort: 'medium' }
  const { completions } = sdk(warnings).chat
  return streamed
    ? completions.runTools({ ...body, stream: true }).finalContent()
    : completions.runTools(body).finalContent()
}

const USER = { role: 'user' as const, content: 'Look around.' }

/** A loop of one's own, whose results come in another order than the calls. `keep` makes history of an answer. */
function ownLoop(keep: (message: Anything) => Anything): (talk: Talk) => Promise<string | null> {
  return async ({ name, streamed, warnings }) => {
    const { completions } = sdk(warnings).chat
    const messages: OpenAI.ChatCompletionMessageParam[] = [USER]
    for (;;) {
      const body: Anything = { model: name, messages, tools: TOOLS, reasoning_effort: 'medium' }
      const answer: OpenAI.ChatCompletion = streamed
        ? await completions.stream(body).finalChatCompletion()
        : await completions.create(body)
      const { message } = answer.choices[0] ?? assert.fail()
      const calls: Anything[] = message.tool_calls ?? []
      if (calls.length === 0) return message.content
      messages.push(keep(message))
      for (const { id, function: call } of calls.toReversed()) {
        messages.push({ role: 'tool', tool_call_id: id, content: `seen ${call.arguments}` })
      }
    }
  }
}

const keeping = ownLoop((message) => message)
/** Knows the fields of the format and no others. */
const dropping = ownLoop(({ role, content, tool_calls: calls }) => ({ role, content, tool_calls: calls }))

/** The AI SDK's loop. */
async function aiSdk({ name, streamed, warnings }: Talk): Promise<string> {
  const ai = createOpenAICompatible({
    name: 'turnpike',
    baseURL: `${gateway.url}/v1`,
    apiKey: key,
    fetch: recordingFetch(warnings),
  })
  const look = tool({
    inputSchema: z.object({ at: z.string().optional(), step: z.number().optional() }),
    execute: async (input) => `seen ${JSON.stringify(input)}`,
  })
  const settings = {
    model: ai(name),
    prompt: USER.content,
    tools: Object.fromEntries(NAMES.map((each) => [each, look])),
    stopWhen: stepCountIs(8),
    providerOptions: { turnpike: { reasoningEffort: 'medium' } },
    maxRetries: 0,
  }
  return streamed ? await streamText(settings).text : (await generateText(settings)).text
}

const CLIENTS = { keeping, dropping, sdkRunner, aiSdk } as const

interface Outcome extends Pick<Strict, 'bodies'> {
  readonly text: string | null
  readonly warnings: readonly string[]
}

async function run(fake: Strict, client: keyof typeof CLIENTS, talk: Omit<Talk, 'warnings'>): Promise<Outcome> {
  provider.answer(fake.script)
  const warnings: string[] = []
  const text = await CLIENTS[client]({ ...talk, warnings })
  assert.deepEqual(fake.refusals, [])
  assert.equal(fake.bodies.length, 4, 'three turns with tools, and the answer')
  return { text, warnings, bodies: fake.bodies }
}

const assistantContents = ({ bodies }: Outcome): Anything[] =>
  bodies
    .at(-1)
    .messages.filter(({ role }: Anything) => role === 'assistant')
    .map(({ content }: Anything) => content)
const modelParts = ({ bodies }: Outcome): Anything[] =>
  bodies
    .at(-1)
    .contents.filter(({ role }: Anything) => role === 'model')
    .map(({ parts }: Anything) => parts)
const signaturesIn = (turns: Anything[]): unknown =>
  turns.map((parts) => parts.map(({ thoughtSignature }: Anything) => thoughtSignature))

const withoutStatus = ({ status: _, ...item }: Anything): Anything => item

for (const streamed of [false, true]) {
  const how = streamed ? 'streamed' : 'whole'

  for (const name of ['budget', 'adaptive'] as const) {
    test(`anthropic, ${name}, ${how}: context that a client returns unchanged reaches the provider unchanged, block by block`, async () => {
      const outcome = await run(strictAnthropic(name === 'budget'), 'keeping', { name, streamed })
      assert.equal(outcome.text, 'Nothing anywhere.')
      assert.deepEqual(assistantContents(outcome), claude.THINKING_LOOP.slice(0, 3))
      for (const { thinking } of outcome.bodies) assert.ok(thinking)
      assert.deepEqual(outcome.warnings, ['', '', '', ''])
    })
  }

  test(`anthropic, budget, ${how}: a client that drops the context continues without thinking, with a warning`, async () => {
    const outcome = await run(strictAnthropic(true), 'dropping', { name: 'budget', streamed })
    assert.equal(outcome.text, 'Nothing anywhere.')
    assert.deepEqual(
      outcome.bodies.map(({ thinking }) => thinking?.type),
      ['enabled', undefined, undefined, undefined],
    )
    assert.deepEqual(outcome.warnings, ['', 'reasoning_effort', 'reasoning_effort', 'reasoning_effort'])
  })

  test(`anthropic, adaptive, ${how}: a client that drops the context continues with thinking`, async () => {
    const outcome = await run(strictAnthropic(false), 'dropping', { name: 'adaptive', streamed })
    assert.equal(outcome.text, 'Nothing anywhere.')
    for (const { thinking } of outcome.bodies) assert.equal(thinking.type, 'adaptive')
    assert.deepEqual(outcome.warnings, ['', '', '', ''])
  })

  for (const name of ['gemini3', 'gemini2'] as const) {
    test(`google, ${name}, ${how}: context that a client returns unchanged has every signature in its position`, async () => {
      const outcome = await run(strictGemini(name === 'gemini3'), 'keeping', { name, streamed })
      assert.equal(outcome.text, 'There you are.')
      const spoken = GEMINI_LOOP.slice(0, 3).map((parts) => parts.filter(({ thought }) => thought !== true))
      assert.deepEqual(signaturesIn(modelParts(outcome)), signaturesIn(spoken))
      assert.deepEqual(outcome.warnings, ['', '', '', ''])
    })
  }

  test(`google, gemini3, ${how}: a client that drops the context continues with the documented placeholder, with a warning`, async () => {
    const outcome = await run(strictGemini(true), 'dropping', { name: 'gemini3', streamed })
    assert.equal(outcome.text, 'There you are.')
    const standIn = 'skip_thought_signature_validator'
    assert.deepEqual(signaturesIn(modelParts(outcome)), [[standIn, undefined], [standIn], [undefined, standIn]])
    assert.deepEqual(outcome.warnings, ['', ...Array.from({ length: 3 }, () => 'messages[].provider_context')])
  })

  test(`google, gemini2, ${how}: a client that drops the context continues without signatures`, async () => {
    const outcome = await run(strictGemini(false), 'dropping', { name: 'gemini2', streamed })
    assert.doesNotMatch(JSON.stringify(outcome.bodies.at(-1)), /thoughtSignature/)
  })

  for (const client of ['keeping', 'dropping'] as const) {
    test(`bedrock, ${how}, ${client} the context: signed reasoning is replayed, or omitted with a warning`, async () => {
      const { bodies, warnings, text } = await run(strictBedrock(), client, { name: 'bedrock', streamed })
      assert.equal(text, 'Done.')
      const thinks = bodies.map((body) => body.additionalModelRequestFields?.thinking?.type)
      const replayed = JSON.stringify(bodies.at(-1)).split('"signature"').length - 1
      const expected =
        client === 'keeping'
          ? ['enabled', 'enabled', 'enabled', 'enabled']
          : ['enabled', undefined, undefined, undefined]
      assert.deepEqual(thinks, expected)
      assert.equal(replayed, client === 'keeping' ? 3 : 0)
      const told = warnings.map((each) => each.includes('reasoning_effort'))
      assert.deepEqual(
        told,
        thinks.map((type) => type === undefined),
      )
    })
  }

  for (const client of ['keeping', 'dropping'] as const) {
    test(`responses, ${how}, ${client} the context: every item is returned unchanged, or without its reasoning`, async () => {
      const { bodies, warnings, text } = await run(strictResponses(), client, { name: 'responses', streamed })
      assert.equal(text, 'Nothing anywhere.')
      const items = bodies
        .at(-1)
        .input.filter(({ type, role }: Anything) => !type.endsWith('_output') && role !== 'user')
      const given = openai.REASONING_LOOP.slice(0, 3).flat()
      if (client === 'keeping') assert.deepEqual(items.map(withoutStatus), given.map(withoutStatus))
      else
        assert.deepEqual(
          items.map(({ id }: Anything) => id),
          items.map(() => undefined),
        )
      assert.equal(items.length, client === 'keeping' ? given.length : 6)
      assert.deepEqual(warnings, ['', '', '', ''])
    })
  }

  for (const [name, fake, text] of [
    ['responses', strictResponses, 'Nothing anywhere.'],
    ['budget', () => strictAnthropic(true), 'Nothing anywhere.'],
    ['adaptive', () => strictAnthropic(false), 'Nothing anywhere.'],
    ['gemini3', () => strictGemini(true), 'There you are.'],
    ['gemini2', () => strictGemini(false), 'There you are.'],
    ['bedrock', strictBedrock, 'Done.'],
  ] as const) {
    for (const client of ['sdkRunner', 'aiSdk'] as const) {
      test(`the tool loop of an SDK (${client}) runs to its end with ${name}, ${how}`, async () => {
        const outcome = await run(fake(), client, { name, streamed })
        assert.ok(outcome.text?.endsWith(text), String(outcome.text))
      })
    }
  }
}

test('a strict provider rejects a client that modifies its thinking, and the client receives the reason', async () => {
  const fake = strictAnthropic(true)
  provider.answer(fake.script)
  const client = sdk([])
  const body = { model: 'budget', tools: TOOLS, reasoning_effort: 'medium' } as const
  const first = await client.chat.completions.create({ ...body, messages: [USER] })
  const message: Anything = structuredClone(first.choices[0]?.message)
  message.provider_context.anthropic.blocks[0].thinking += '!'
  const results = message.tool_calls.map(({ id }: Anything) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
  await assert.rejects(
    client.chat.completions.create({ ...body, messages: [USER, message, ...results] }),
    (error) => error instanceof OpenAI.BadRequestError && /Invalid `signature`/.test(error.message),
  )
  assert.equal(fake.refusals.length, 1)
})
