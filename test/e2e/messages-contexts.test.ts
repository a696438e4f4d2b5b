/**
 * What providers want back with the next request survives a tool loop through the Messages and the Responses API:
 * Gemini's thought signatures, OpenRouter's reasoning details, Bedrock's signed reasoning. Runs on one database: it is
 * about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { model, startGateway } from '../support/gateway.ts'
import { answerBytes, chunk, completion, counts, frame, SSE_HEAD } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  geminiAnswer,
  geminiFrames,
  NATIVES,
  type Native,
  nativeProviders,
} from '../support/providers/native-answers.ts'

const azure = NATIVES['azure'] ?? assert.fail()
const openrouter: Native = { ...azure, settings: { kind: 'openrouter', api_key: 'sk-openrouter' }, model: 'x/y' }
const HOSTS: Readonly<Record<string, Native | undefined>> = { ...NATIVES, openrouter }
const NAMES = ['google', 'bedrock', 'openrouter', 'anthropic'] as const
const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url, NAMES, HOSTS),
    models: NAMES.map((name) => ({ ...model(name, name, HOSTS[name]?.model ?? ''), max_output_tokens: 4000 })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1 },
  },
})
const apiKey = await gateway.key()
const client = new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 })
const openai = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

type Request = Anthropic.MessageCreateParamsNonStreaming
const WAYS = {
  whole: (body: Request): Promise<Anthropic.Message> => client.messages.create(body),
  streamed: (body: Request): Promise<Anthropic.Message> => client.messages.stream(body).finalMessage(),
} as const
const USER: Anthropic.MessageParam = { role: 'user', content: 'Go on.' }
const TOOLS: Anthropic.Tool[] = [{ name: 'look', input_schema: { type: 'object', properties: {} } }]
const CALL = { id: 'call_one', name: 'look', input: { at: 'left' } }
const SIGNATURE = 'c2lnbmVkIGJ5IHRoZSBtb2RlbA=='
const DETAILS = [{ type: 'reasoning.encrypted', data: SIGNATURE, id: 'rs_1', index: 0 }]

const google = NATIVES['google'] ?? assert.fail()
const GEMINI_PARTS = [{ functionCall: { id: CALL.id, name: CALL.name, args: CALL.input }, thoughtSignature: SIGNATURE }]
const CHAT_CALL = {
  id: CALL.id,
  type: 'function',
  function: { name: CALL.name, arguments: JSON.stringify(CALL.input) },
}

/** Sends `frames` where a stream is asked for, else `whole`. */
function answerAs(isStreamed: (typeof google)['isStreamed'], whole: object, frames: readonly string[]): Script {
  return async (call, reply) => {
    if (isStreamed(call)) return answerBytes(SSE_HEAD, frames.join(''))(call, reply)
    return answerBytes({ 'content-type': 'application/json' }, JSON.stringify(whole))(call, reply)
  }
}

/** By model: an answer with a tool call and a context. */
const ANSWERS: Readonly<Record<string, Script>> = {
  google: answerAs(google.isStreamed, geminiAnswer(GEMINI_PARTS), geminiFrames(GEMINI_PARTS)),
  bedrock: answerNative(NATIVES['bedrock'] ?? assert.fail(), { reasoning: 'I think.', calls: [CALL] }),
  openrouter: answerAs(
    azure.isStreamed,
    completion(
      {},
      {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls: [CHAT_CALL], reasoning_details: DETAILS },
            finish_reason: 'tool_calls',
          },
        ],
        usage: counts(10, 5),
      },
    ),
    [
      chunk({ role: 'assistant', reasoning_details: DETAILS }),
      chunk({ tool_calls: [{ index: 0, ...CHAT_CALL }] }),
      chunk({}, 'tool_calls', { usage: counts(10, 5) }),
      '[DONE]',
    ].map(frame),
  ),
}
/** By model: where its next request has the context. */
const RETURNED: Readonly<Record<string, RegExp>> = {
  google: new RegExp(`"thoughtSignature":"${SIGNATURE}"`),
  bedrock: /"reasoningText":\{"text":"I think\.","signature":"c2lnbmVk"\}/,
  openrouter: new RegExp(`"reasoning_details":\\[.*"data":"${SIGNATURE}"`),
}

function ask(name: string, messages: Anthropic.MessageParam[] = [USER]): Request {
  const thinking = name === 'bedrock' ? { thinking: { type: 'enabled', budget_tokens: 1024 } as const } : {}
  return { model: name, max_tokens: 2000, messages, tools: TOOLS, ...thinking }
}

function withResult(content: Anthropic.ContentBlock[]): Anthropic.MessageParam[] {
  return [
    USER,
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: CALL.id, content: 'seen' }] },
  ]
}

const sent = (): string => provider.calls.at(-1)?.body ?? assert.fail('no provider was called')

for (const [name, answer] of Object.entries(ANSWERS)) {
  for (const [way, create] of Object.entries(WAYS)) {
    test(`${name}, ${way}: the context of a tool loop is returned to its provider`, async () => {
      provider.answer(answer)
      const { content, stop_reason: reason } = await create(ask(name))
      assert.equal(reason, 'tool_use')
      const opaque = content.filter(({ type }) => type === 'redacted_thinking')
      assert.equal(opaque.length, 1, JSON.stringify(content))
      assert.deepEqual(content.at(-1), opaque[0])
      await create(ask(name, withResult(content)))
      assert.match(sent(), RETURNED[name] ?? assert.fail())
      assert.doesNotMatch(sent(), /turnpike_context/)
    })
  }

  test(`${name}: a loop of the Responses API returns it in an encrypted reasoning item, whole and streamed`, async () => {
    provider.answer(answer)
    for (const stream of [false, true]) {
      const request = {
        model: name,
        tools: [{ type: 'function' as const, name: 'look', strict: false, parameters: { type: 'object' } }],
        include: ['reasoning.encrypted_content' as const],
        reasoning: { effort: 'low' as const },
        max_output_tokens: 4000,
      }
      const create = (input: OpenAI.Responses.ResponseInput) =>
        stream
          ? openai.responses.stream({ ...request, input }).finalResponse()
          : openai.responses.create({ ...request, input })
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Go on.' }]
      const { output } = await create(input)
      const call = output.find((item) => item.type === 'function_call')
      if (call?.type !== 'function_call') assert.fail(JSON.stringify(output))
      assert.ok(output.some((item) => item.type === 'reasoning' && typeof item.encrypted_content === 'string'))
      const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'seen' }
      await create([...input, ...(output as OpenAI.Responses.ResponseInput), result])
      assert.match(sent(), RETURNED[name] ?? assert.fail())
    }
  })

  test(`${name}: its context reaches no provider of another protocol`, async () => {
    provider.answer(answer)
    const { content } = await client.messages.create(ask(name))
    provider.answer(answerNative(NATIVES['anthropic'] ?? assert.fail(), { text: ['Well.'] }))
    const { content: next } = await client.messages.create(ask('anthropic', withResult(content)))
    assert.deepEqual(next, [{ type: 'text', text: 'Well.', citations: null }])
    assert.doesNotMatch(sent(), /turnpike_context|redacted_thinking/)
  })
}

test('a context that the client has changed is ignored', async () => {
  provider.answer(ANSWERS['google'] ?? assert.fail())
  const { content } = await client.messages.create(ask('google'))
  const broken = content.map((block) =>
    block.type === 'redacted_thinking' ? { ...block, data: `${block.data.slice(0, 40)}!` } : block,
  )
  const { stop_reason: reason } = await client.messages.create(ask('google', withResult(broken)))
  assert.equal(reason, 'tool_use')
  assert.doesNotMatch(sent(), new RegExp(SIGNATURE))
})

test('an answer without tool calls has no such block, unless the client requests thinking', async () => {
  const parts = [{ text: 'Yes.', thoughtSignature: SIGNATURE }]
  provider.answer(answerAs(google.isStreamed, geminiAnswer(parts), geminiFrames(parts)))
  for (const create of Object.values(WAYS)) {
    const plain = await create(ask('google'))
    assert.deepEqual(
      plain.content.map(({ type }) => type),
      ['text'],
    )
    const thinking = await create({ ...ask('google'), thinking: { type: 'enabled', budget_tokens: 1024 } })
    assert.deepEqual(
      thinking.content.map(({ type }) => type),
      ['text', 'redacted_thinking'],
    )
  }
})
