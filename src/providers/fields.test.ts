/**
 * No field of a request vanishes: every field of OpenAI's current chat-completions request, and every documented
 * extension of a host, is translated, named in the warnings, or refused. The names are read from the official SDK's
 * type declarations, so that a new version of it with a new field fails here.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RICH_PRICE } from '../../test/support/providers/prices.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/request.ts'
import type { UpstreamProtocol, WireRequest } from '../protocols/protocol.ts'
import { PROTOCOLS, PROVIDERS } from './index.ts'

const DECLARATIONS = 'node_modules/openai/resources/chat/completions/completions.d.ts'

function namesOfSdk(): readonly string[] {
  const text = readFileSync(join(import.meta.dirname, '../..', DECLARATIONS), 'utf8')
  const [, body] = /export interface ChatCompletionCreateParamsBase \{\n(.*?)\n\}\n/s.exec(text) ?? []
  assert.ok(body !== undefined, 'the interface is where it was')
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name)
}

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const MESSAGES = [{ role: 'user', content: 'Hi' }]

interface Sample {
  /** A value that is not the default. */
  readonly value: unknown
  /** What the field is only allowed with. */
  readonly beside?: Readonly<Record<string, unknown>>
  /** Who deals with it, where it is not the protocol. */
  readonly elsewhere?: string
}

const SAMPLES: Readonly<Record<string, Sample>> = {
  messages: { value: [{ role: 'user', content: 'Hello there' }] },
  model: { value: 'another', elsewhere: 'the price list, which names the model of each provider' },
  audio: { value: { voice: 'alloy', format: 'wav' } },
  frequency_penalty: { value: 0.5 },
  function_call: { value: { name: 'look' }, beside: { functions: [TOOL.function] } },
  functions: { value: [TOOL.function] },
  logit_bias: { value: { '50256': -100 } },
  logprobs: { value: true },
  max_completion_tokens: { value: 321 },
  max_tokens: { value: 321 },
  metadata: { value: { a: 'b' } },
  modalities: { value: ['text', 'audio'] },
  moderation: { value: { model: 'omni-moderation-latest' } },
  n: { value: 3, elsewhere: 'the gateway, which calls n times where one call cannot give n choices' },
  parallel_tool_calls: { value: false, beside: { tools: [TOOL] } },
  prediction: { value: { type: 'content', content: 'Hi' } },
  presence_penalty: { value: 0.5 },
  prompt_cache_key: { value: 'k' },
  prompt_cache_options: { value: { mode: 'explicit' } },
  prompt_cache_retention: { value: '24h' },
  reasoning_effort: { value: 'low' },
  response_format: { value: { type: 'json_object' } },
  safety_identifier: { value: 's' },
  seed: { value: 7 },
  service_tier: { value: 'flex' },
  stop: { value: ['x'] },
  store: { value: true },
  stream: { value: true },
  stream_options: {
    value: { include_usage: true },
    beside: { stream: true },
    elsewhere: 'the renderer of streams; usage is asked of every provider anyway',
  },
  temperature: { value: 0.5 },
  tool_choice: { value: 'required', beside: { tools: [TOOL] } },
  tools: { value: [TOOL] },
  top_logprobs: { value: 2, beside: { logprobs: true } },
  top_p: { value: 0.9 },
  user: { value: 'u' },
  verbosity: { value: 'low' },
  web_search_options: { value: { search_context_size: 'high' } },
}

/** A model of each maker that the codecs know. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['claude-sonnet-4-5', 'claude-opus-5-5', 'another-maker'],
  gemini: ['gemini-2.5-flash', 'gemini-3.5-flash', 'gemini-2.0-flash'],
  bedrock: ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.nova-2-lite-v1:0', 'openai.gpt-oss-120b-1:0', 'a.b'],
}

interface Target {
  readonly model: string
  readonly price: Price | undefined
  readonly forwardUnknown: boolean
}

type Outcome = { readonly wire: WireRequest } | { readonly refused: string }

function outcomeOf(protocol: UpstreamProtocol, body: object, target: Target): Outcome {
  try {
    const request = parseChatRequest({ model: 'm', messages: MESSAGES, ...body })
    return { wire: protocol.renderRequest(request, { ...target, maxOutputTokens: 8192 }) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    assert.equal(error.status, 422, error.message)
    return { refused: error.param ?? '' }
  }
}

test('only hosts that pad chunks are asked not to', () => {
  const body = { stream: true, stream_options: { include_obfuscation: false } }
  const sent = (host: string): unknown => {
    const outcome = outcomeOf(PROVIDERS[host]?.protocol ?? assert.fail(), body, { ...PLAIN_TARGET })
    return 'wire' in outcome ? JSON.parse(outcome.wire.body).stream_options : outcome.refused
  }
  assert.deepEqual(sent('openai'), { include_usage: true, include_obfuscation: false })
  assert.deepEqual(sent('deepseek'), { include_usage: true })
})

const PLAIN_TARGET: Target = { model: 'm', price: undefined, forwardUnknown: false }

/** Whether a path is of this field, or of something in it. */
function isOf(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`)
}

/** Asserts that a field leaves a trace. */
function assertTold(
  protocol: UpstreamProtocol,
  name: string,
  { sample, target }: { sample: Sample; target: Target },
): void {
  const { value, beside = {} } = sample
  const where = `${name} on ${target.model}`
  const before = outcomeOf(protocol, beside, target)
  const after = outcomeOf(protocol, { ...beside, [name]: value }, target)
  if ('refused' in before) return // what it goes with is refused already
  if ('refused' in after) {
    // Older names are refused as what they become.
    const known = ['functions', 'function_call'].includes(name) ? [name, 'tools', 'tool_choice'] : [name]
    assert.ok(
      known.some((each) => isOf(after.refused, each)),
      `${where} is refused as ${after.refused}`,
    )
    return
  }
  const isNamed = after.wire.warnings.some((warning) => isOf(warning, name))
  const isSent = after.wire.body !== before.wire.body || after.wire.path !== before.wire.path
  assert.ok(isNamed || isSent, `${where} vanishes: ${after.wire.body} ${after.wire.warnings}`)
}

function targetsOf(protocol: UpstreamProtocol): readonly Target[] {
  return (MODELS[protocol.id] ?? ['theirs']).flatMap((model) =>
    [undefined, RICH_PRICE].flatMap((price) =>
      [true, false].map((forwardUnknown) => ({ model, price, forwardUnknown })),
    ),
  )
}

test('every field of the SDK has a sample here, and no other', () => {
  assert.deepEqual(Object.keys(SAMPLES).sort(), namesOfSdk().toSorted())
})

/** Every host with each of its protocols, and any host of a protocol that no host has by itself. */
const HOSTS: readonly { readonly id: string; readonly protocol: UpstreamProtocol }[] = [
  ...Object.values(PROVIDERS).filter(({ hasChat = true }) => hasChat),
  ...Object.values(PROVIDERS).flatMap(({ id, protocols = {} }) =>
    Object.entries(protocols).map(([name, protocol]) => ({ id: `${id} by ${name}`, protocol })),
  ),
  { id: 'any host of openai-responses', protocol: PROTOCOLS['openai-responses']?.protocol ?? assert.fail() },
]

for (const { id, protocol } of HOSTS) {
  test(`${id}: no field of the current OpenAI request vanishes`, () => {
    for (const [name, sample] of Object.entries(SAMPLES)) {
      if (sample.elsewhere !== undefined) continue
      for (const target of targetsOf(protocol)) assertTold(protocol, name, { sample, target })
    }
  })

  test(`${id}: documented extensions are sent or translated, others are named`, () => {
    assert.ok(protocol.forwards !== undefined || id === 'simulator', 'a host has a list')
    for (const name of [...(protocol.forwards?.fields ?? []), 'thinking', 'top_k', 'made_up']) {
      const value = name === 'thinking' ? { type: 'enabled', budget_tokens: 2048 } : 3
      for (const target of targetsOf(protocol)) assertTold(protocol, name, { sample: { value }, target })
    }
  })

  test(`${id}: a field that nobody knows is sent to hosts of the operator's own alone`, () => {
    for (const target of targetsOf(protocol)) {
      const outcome = outcomeOf(protocol, { made_up: { a: [1, null] } }, target)
      assert.ok('wire' in outcome)
      assert.deepEqual(JSON.parse(outcome.wire.body)['made_up'], target.forwardUnknown ? { a: [1, null] } : undefined)
      assert.deepEqual(outcome.wire.warnings, target.forwardUnknown ? [] : ['made_up'])
    }
  })
}

test('logprobs: false and null are accepted everywhere, logprobs: true is refused where the provider has none', () => {
  let refusals = 0
  for (const { id, protocol } of Object.values(PROVIDERS)) {
    for (const target of targetsOf(protocol)) {
      for (const body of [{ logprobs: false }, { logprobs: null }, { logprobs: false, top_logprobs: null }]) {
        assert.ok('wire' in outcomeOf(protocol, body, target), `${id} ${JSON.stringify(body)}`)
      }
      if ('refused' in outcomeOf(protocol, { logprobs: true }, target)) refusals++
    }
  }
  assert.ok(refusals > 0)
})
