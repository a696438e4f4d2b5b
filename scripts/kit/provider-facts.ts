/**
 * Determines by probing what a provider's codec does with each field of a request: sends it, omits or adjusts it with a
 * warning, or rejects it. It does not know the options of codecs.
 */
import type { ChatMessage, ChatRequest, ContentPart, Tool } from '../../src/domain/chat.ts'
import { GatewayError } from '../../src/domain/errors.ts'
import type { Provider } from '../../src/providers/provider.ts'

/** Names as in `error.param` and `x-turnpike-warnings`, without indexes. */
export interface ProviderFacts {
  /** Omitted, or replaced by the nearest equivalent, with a warning. */
  readonly adjusted: readonly string[]
  /** Rejected with 422. */
  readonly rejected: readonly string[]
  /** Path of the length limit in the body; undefined: not sent. */
  readonly lengthLimit: string | undefined
  /** Path of an earlier answer's reasoning; undefined: not sent. */
  readonly earlierReasoning: string | undefined
  /** Whether a streaming request requests usage; otherwise the host sends it anyway. */
  readonly asksForUsage: boolean
}

/** A model without special rules in any codec. */
const TARGET = { model: 'a-model', maxOutputTokens: 4096 }
const REQUEST: ChatRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: false,
  includeUsage: false,
  n: 1,
  extra: {},
}
const TOOL: Tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
} as const
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

/** The probes, by their names in the result. */
const PROBES: readonly (readonly [name: string, said: Partial<ChatRequest>])[] = [
  ['temperature', { temperature: 0.5 }],
  ['temperature 0', { temperature: 0 }],
  ['top_p', { topP: 0.9 }],
  ['stop', { stop: ['x'] }],
  ['seed', { seed: 7 }],
  ['logprobs', { logprobs: true }],
  ['top_logprobs', { logprobs: true, topLogprobs: 2 }],
  ['frequency_penalty', { frequencyPenalty: 0.5 }],
  ['presence_penalty', { presencePenalty: 0.5 }],
  ['logit_bias', { logitBias: { '50256': -100 } }],
  ['reasoning_effort', { reasoningEffort: 'low' }],
  ['reasoning_effort none', { reasoningEffort: 'none' }],
  ['tools', { tools: [TOOL] }],
  ['tool_choice required', { tools: [TOOL], toolChoice: 'required' }],
  ['tool_choice none', { tools: [TOOL], toolChoice: 'none' }],
  ['parallel_tool_calls false', { tools: [TOOL], parallelToolCalls: false }],
  ['response_format json_object', { responseFormat: { type: 'json_object' } }],
  [
    'response_format json_schema',
    { responseFormat: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } } },
  ],
  ['modalities audio', { modalities: ['text', 'audio'] }],
  ['user', { user: 'u' }],
  ['metadata', { metadata: { a: 'b' } }],
  ['store', { store: true }],
  ['service_tier default', { serviceTier: 'default' }],
  ['prediction', { prediction: { type: 'content', content: 'Hi' } }],
  ['messages[].name', { messages: [{ role: 'user', content: 'Hi', name: 'ann' }] }],
  ['image by data URL', saying({ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } })],
  ['image by https', saying({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } })],
  ['input_audio', saying({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } })],
  [
    'file',
    saying({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' } }),
  ],
]

function saying(part: ContentPart): Partial<ChatRequest> {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, part] }] }
}

export function factsOf(provider: Provider): ProviderFacts {
  const outcomes = PROBES.map(([name, said]) => [name, outcomeOf(provider, { ...REQUEST, ...said })] as const)
  const named = (wanted: Outcome): string[] => outcomes.flatMap(([name, outcome]) => (outcome === wanted ? [name] : []))
  return {
    adjusted: named('adjusted'),
    rejected: named('rejected'),
    lengthLimit: pathOf(bodyOf(provider, { maxTokens: 321 }), 321),
    earlierReasoning: pathOf(bodyOf(provider, { messages: WITH_REASONING }), 'Earlier thoughts.'),
    asksForUsage: pathOf(bodyOf(provider, { stream: true }), true, 'include_usage') !== undefined,
  }
}

const WITH_REASONING: readonly ChatMessage[] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello', reasoning_content: 'Earlier thoughts.' },
  { role: 'user', content: 'Again' },
]

type Outcome = 'sent' | 'adjusted' | 'rejected'

function outcomeOf(provider: Provider, request: ChatRequest): Outcome {
  try {
    return provider.protocol.renderRequest(request, TARGET).warnings.length > 0 ? 'adjusted' : 'sent'
  } catch (error) {
    if (error instanceof GatewayError) return 'rejected'
    throw error
  }
}

function bodyOf(provider: Provider, said: Partial<ChatRequest>): unknown {
  return JSON.parse(provider.protocol.renderRequest({ ...REQUEST, ...said }, TARGET).body)
}

/** Finds the path of a value in JSON, such as `messages[].reasoning`. @param name Name of its field, if it matters. */
function pathOf(value: unknown, wanted: unknown, name?: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, child] of Object.entries(value)) {
    const step = Array.isArray(value) ? '[]' : key
    if (child === wanted && (name === undefined || key === name)) return step
    const rest = pathOf(child, wanted, name)
    if (rest !== undefined) return rest.startsWith('[') ? step + rest : `${step}.${rest}`
  }
  return undefined
}
