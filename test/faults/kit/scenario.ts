/**
 * One request with everything that may befall it, made from a seed: what the provider does, byte for byte, and what the
 * client does. The same seed makes the same scenario, whatever runs beside it.
 */
import { chunk, counts, frame, usageChunk } from '../../support/providers/answers.ts'
import { bill, body, delay, end, fin, garbage, head, rst, type Script, send, split, sse, stall } from './byte-script.ts'
import { failure, finish, goodAnswer, PROMPT_TOKENS, role, streamHead, whole, words } from './openai-script.ts'

export type Random = () => number

/** Of a 32-bit state. */
export function seeded(seed: number): Random {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** `read`: to the end. `leave`: after so many bytes of the answer; 0 is before its head. `pause`: stops reading there for a while. */
export type ClientPlan =
  | { readonly does: 'read' }
  | { readonly does: 'leave'; readonly afterBytes: number; readonly waitMs: number }
  | { readonly does: 'pause'; readonly afterBytes: number; readonly waitMs: number }
  /** With an `Idempotency-Key`: leaves, comes back, and reads the rest. */
  | { readonly does: 'resume'; readonly afterBytes: number }

export interface Scenario {
  /** Its prompt, its `x-client-request-id` and, with a key, its `Idempotency-Key`. */
  readonly name: string
  readonly model: string
  readonly stream: boolean
  readonly keyed: boolean
  readonly client: ClientPlan
  /** What becomes of the first call, of the second, and so on; the last holds for all that follow. */
  readonly calls: readonly { readonly kind: string; readonly script: Script }[]
}

export const MODELS = 8
/** The configuration of the gateway must have these. */
export const FIRST_EVENT_MS = 600
export const IDLE_MS = 500

export function scenarioOf(seed: number, index: number): Scenario {
  const random = seeded(Math.imul(seed, 1_000_003) + index)
  const stream = random() < 0.7
  const keyed = random() < 0.3
  const calls = Array.from({ length: 3 }, () => pick(random, stream ? STREAM_KINDS : WHOLE_KINDS)).map(
    ([kind, make]) => ({
      kind,
      script: make(random),
    }),
  )
  return {
    name: `scenario-${seed}-${index}`,
    model: `m${below(random, MODELS)}`,
    stream,
    keyed,
    client: planOf(random, { stream, keyed }),
    calls,
  }
}

function planOf(random: Random, { stream, keyed }: Pick<Scenario, 'stream' | 'keyed'>): ClientPlan {
  const fate = random()
  const afterBytes = random() < 0.25 ? 0 : below(random, 2_500)
  const waitMs = below(random, 60)
  if (fate < 0.6) return { does: 'read' }
  if (stream && keyed) return { does: 'resume', afterBytes }
  if (fate < 0.85) return { does: 'leave', afterBytes, waitMs }
  return { does: 'pause', afterBytes, waitMs: waitMs * 4 }
}

type Make = (random: Random) => Script
/** Kind, how often, and what it does. */
type Kind = readonly [name: string, weight: number, make: Make]

const STREAM_KINDS: readonly Kind[] = [
  ['good', 40, goodStream],
  ['status', 12, (random) => statusOf(random)],
  ['cut', 10, (random) => [...pieces(random), ...begun(random), random() < 0.5 ? fin : rst]],
  ['cut before the head', 3, (random) => [send('HTTP/1.1 200 OK\r\ncontent-'), random() < 0.5 ? fin : rst]],
  ['silent', 3, () => [stall]],
  ['stalls', 4, (random) => [...begun(random), stall]],
  ['comments for ever', 2, (random) => [...begun(random), ...comments(), stall]],
  ['bad json', 4, (random) => [...begun(random), body('data: {"choices": [\n\n'), ...finish(0)]],
  ['error event', 4, (random) => [...begun(random), sse({ error: { message: 'overloaded', code: 502 } }), end]],
  ['huge event', 1, (random) => [...begun(random), body(`data: ${'x'.repeat(1_200_000)}\n\n`), end]],
  ['garbage', 2, (random) => [send(garbage(below(random, 300) + 1, 7)), fin]],
  ['no usage', 4, (random) => [...begun(random), sse(chunk({}, 'stop')), body(frame('[DONE]')), end]],
  ['no done', 3, (random) => [...begun(random), sse(chunk({}, 'stop')), end]],
  ['usage twice', 3, (random) => [...begun(random), ...usageTwice()]],
  [
    'lying usage',
    2,
    (random) => [
      ...begun(random),
      sse(chunk({}, 'stop')),
      sse(usageChunk(counts(-5, 10 ** 9))),
      body(frame('[DONE]')),
      end,
    ],
  ],
  ['json instead', 2, () => goodAnswer(4)],
]

const WHOLE_KINDS: readonly Kind[] = [
  ['good', 40, (random) => [delay(below(random, 20)), ...goodAnswer(below(random, 30))]],
  ['status', 14, (random) => statusOf(random)],
  ['silent', 3, () => [stall]],
  ['bad json', 4, () => whole(200, '{"choices": [')],
  ['empty', 2, () => whole(200, '')],
  [
    'cut',
    6,
    (random) => [
      head(200, { 'content-type': 'application/json' }, 5_000),
      body('{"id": "x",'),
      random() < 0.5 ? fin : rst,
    ],
  ],
  ['garbage', 2, (random) => [send(garbage(below(random, 300) + 1, 9)), fin]],
  ['no usage', 3, (random) => goodAnswer(1 + below(random, 9), null)],
]

function goodStream(random: Random): Script {
  const count = below(random, 30)
  return [...pieces(random), ...begun(random, count), ...finish(count)]
}

/** The head of a stream and its first words. */
function begun(random: Random, count = below(random, 30)): Script {
  const first: Script = random() < 0.9 ? [role] : []
  const comment: Script = random() < 0.2 ? [body(': hello\n\n')] : []
  return [
    bill(0),
    streamHead(random() < 0.2 ? 'close' : 'chunked'),
    ...comment,
    ...first,
    ...words(count, below(random, 3)),
  ]
}

function pieces(random: Random): Script {
  if (random() < 0.5) return []
  return [split(...Array.from({ length: 5 }, () => 1 + below(random, 120)))]
}

function usageTwice(): Script {
  return [
    sse(usageChunk(counts(PROMPT_TOKENS, 1))),
    sse(chunk({}, 'stop')),
    sse(usageChunk(counts(PROMPT_TOKENS, 2))),
    sse(usageChunk(counts(PROMPT_TOKENS, 2))),
    body(frame('[DONE]')),
    end,
  ]
}

function comments(): Script {
  return Array.from({ length: 20 }, () => [body(': still here\n\n'), delay(50)]).flat()
}

const STATUSES = [400, 401, 403, 404, 408, 413, 422, 429, 429, 500, 500, 502, 503, 503, 529]

function statusOf(random: Random): Script {
  const status = STATUSES[below(random, STATUSES.length)] ?? 500
  return failure(status, status === 429 && random() < 0.3 ? { 'retry-after': '1' } : {})
}

function pick(random: Random, kinds: readonly Kind[]): readonly [string, Make] {
  const total = kinds.reduce((sum, [, weight]) => sum + weight, 0)
  let left = random() * total
  for (const [name, weight, make] of kinds) {
    left -= weight
    if (left < 0) return [name, make]
  }
  throw new Error('there are no kinds')
}

function below(random: Random, limit: number): number {
  return Math.floor(random() * limit)
}
