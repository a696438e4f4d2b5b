/**
 * An experiment: random answers of a provider that has a bill of its own, broken off at random moments, through the data
 * plane on a clock that only the experiment moves. What is charged for each is compared with the bill.
 */
import { readFileSync } from 'node:fs'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { HANGS, modelOf, type Step, testClient } from '../ledger/data-plane.ts'
import { hello, type Plane, plane } from '../ledger/plane.ts'
import type { Billed, Family } from './abort-families.ts'

interface Corpus {
  readonly tokenizers: readonly string[]
  readonly texts: readonly { readonly name: string; readonly text: string; readonly counts: readonly number[] }[]
}
const CORPUS_FILE = new URL('../../../src/domain/fixtures/token-corpus.json', import.meta.url)
const CORPUS: Corpus = JSON.parse(readFileSync(CORPUS_FILE, 'utf8'))
/** What answers are made of, the common twice. */
const TEXTS = ['english', 'prose', 'english', 'prose', 'code', 'json', 'german', 'russian', 'chinese', 'hindi']

/** USD a million tokens. */
const INPUT = 2
const OUTPUT = 10
/** Whole answers before the first that is broken off: what there is to measure. */
const WARM_UPS = 25
/** Of those broken off, how many are by the provider and not by the client. */
const CUT_SHARE = 0.3
/** Of all answers, those that come to their end in between. */
const WHOLE_SHARE = 0.3

export interface AbortBills {
  readonly family: string
  /** Answers that were broken off. */
  readonly aborts: number
  /** USD. */
  readonly billed: number
  readonly charged: number
  /** Relative errors of single calls, sorted. */
  readonly errors: readonly number[]
  /** Single calls that were charged nothing, or as much as was held. */
  readonly free: number
  readonly all: number
}

/** @param random Between 0 and 1. */
export async function compareAborts(family: Family, aborts: number, random: () => number): Promise<AbortBills> {
  const run = createRun(family, random)
  for (let at = 0; at < WARM_UPS; at++) await run.ask(false)
  const calls: Compared[] = []
  while (calls.length < aborts) {
    const isAborted = random() >= WHOLE_SHARE
    const call = await run.ask(isAborted)
    if (isAborted) calls.push(call)
  }
  const sum = (of: (call: Compared) => number): number => calls.reduce((total, call) => total + of(call), 0)
  return {
    family: family.name,
    aborts,
    billed: sum(({ billed }) => billed),
    charged: sum(({ charged }) => charged),
    errors: calls.map(({ billed, charged }) => charged / billed - 1).sort((one, other) => one - other),
    free: calls.filter(({ charged }) => charged === 0).length,
    all: calls.filter(({ charged, held }) => charged >= held).length,
  }
}

interface Compared {
  readonly billed: number
  readonly charged: number
  readonly held: number
}

interface Run {
  ask(isAborted: boolean): Promise<Compared>
}

function createRun(family: Family, random: () => number): Run {
  let now = 0
  let steps: readonly Step[] = []
  const fleet = planeOf(family, { script: () => steps, clock: () => now })
  return {
    async ask(isAborted) {
      const answer = drawAnswer(family, random)
      const client = testClient()
      const startedAt = now
      const made = fleet.records.length
      const until = isAborted ? answer.durationMs * random() : Number.POSITIVE_INFINITY
      const isCut = isAborted && until > answer.firstTextMs && random() < CUT_SHARE
      const end: Step[] = isCut ? [new Error('The connection was reset.')] : [() => client.leave(), HANGS]
      const at = (ms: number) => (): void => {
        now = startedAt + ms
      }
      steps = [
        ...answer.events.filter(({ ms }) => ms <= until).flatMap(({ ms, bytes }) => [at(ms), bytes]),
        ...(isAborted ? [at(until), ...end] : []),
      ]
      const effort = answer.reasons ? 'high' : family.hiddenReasoning === 'unasked' ? 'none' : undefined
      const body = hello({
        stream: true,
        messages: [{ role: 'user', content: answer.prompt }],
        reasoning_effort: effort,
      })
      const { error } = await fleet.ask(body, client, { receivedAt: startedAt })
      if (error !== undefined && fleet.records.length === made) throw error
      now += 1000
      const record = fleet.records.at(-1)
      const { prompt, reasoning, text } = answer.billAt(until)
      return {
        billed: (prompt * INPUT + (reasoning + text) * OUTPUT) / 1e6,
        charged: Number(record?.costNanoUsd ?? 0n) / 1e9,
        held: Number(fleet.credit.holds.at(-1)?.amountNanoUsd ?? 0n) / 1e9,
      }
    },
  }
}

interface Played {
  readonly script: () => readonly Step[]
  readonly clock: () => number
}

function planeOf({ protocol, model, hiddenReasoning }: Family, { script, clock }: Played): Plane {
  const source = { url: 'https://example.com', read: '2026-11-23' }
  const provider = { id: 'up', name: 'up', protocol, authorize: () => {}, source }
  return plane(() => ({ headers: headersOf(protocol.framing), body: script() }), {
    clock,
    countTokens: async (text) => countTokens(text, { disallowedSpecial: new Set() }),
    upstream: { provider: hiddenReasoning === undefined ? provider : { ...provider, hiddenReasoning } },
    model: modelOf({
      maxOutputTokens: 32_000,
      price: { inputMicroUsd: INPUT * 1e6, outputMicroUsd: OUTPUT * 1e6 },
      supportedParameters: ['reasoning_effort'],
      deployments: [{ provider: 'up', model, priority: 0, weight: 1 }],
    }),
  })
}

function headersOf(framing: string): Record<string, string> {
  return { 'content-type': framing === 'sse' ? 'text/event-stream' : 'application/vnd.amazon.eventstream' }
}

interface Answer {
  readonly prompt: string
  readonly reasons: boolean
  /** In order; milliseconds since the call. */
  readonly events: readonly { readonly ms: number; readonly bytes: string | Buffer }[]
  readonly firstTextMs: number
  readonly durationMs: number
  /** What the provider has generated and charges after so many milliseconds, whatever was shown of it. */
  billAt(ms: number): Billed
}

const CHUNK_TOKENS = 16

function drawAnswer(family: Family, random: () => number): Answer {
  const between = ([least, most]: readonly [number, number]): number => least + (most - least) * random()
  const drift = between(family.drift)
  const reasons = random() < family.reasons
  const reasoning = reasons ? Math.round(logNormal({ median: 700, sigma: 0.8 }, random)) : 0
  const text = Math.round(logNormal({ median: 350, sigma: 0.8 }, random))
  const asked = drawText(family, { tokens: logNormal({ median: 600, sigma: 1 }, random), drift, random })
  const prompt = Math.round(asked.tokens) + 8
  const waitMs = logNormal({ median: 600, sigma: 0.4 }, random)
  const msPerToken = logNormal({ median: 14, sigma: 0.25 }, random)
  const answered = drawText(family, { tokens: text, drift, random })
  const shown = drawText(family, { tokens: reasoning * between(family.shows), drift, random })
  const generatedAt = (ms: number): number => Math.max(0, Math.floor((ms - waitMs) / msPerToken))
  const billAt = (ms: number): Billed => {
    const generated = Math.min(reasoning + text, generatedAt(ms))
    const thought = Math.min(reasoning, generated)
    return { prompt, reasoning: thought, text: generated - thought }
  }
  const events = [{ ms: waitMs * 0.9, bytes: family.begin(billAt(0)) }]
  const timeOf = (tokens: number): number => waitMs + tokens * msPerToken
  for (let done = 0; shown.text !== '' && done < reasoning; done += CHUNK_TOKENS) {
    const next = Math.min(reasoning, done + CHUNK_TOKENS)
    events.push({ ms: timeOf(next), bytes: family.reasoning(sliceOf(shown.text, { done, next, all: reasoning })) })
  }
  for (let done = 0; done < text; done += CHUNK_TOKENS) {
    const next = Math.min(text, done + CHUNK_TOKENS)
    const ms = timeOf(reasoning + next)
    events.push({ ms, bytes: family.text(sliceOf(answered.text, { done, next, all: text }), billAt(ms + 1e-6)) })
  }
  const durationMs = timeOf(reasoning + text)
  events.push({ ms: durationMs, bytes: family.end(billAt(Number.POSITIVE_INFINITY)) })
  const firstTextMs = timeOf(reasoning + Math.min(text, CHUNK_TOKENS))
  return { prompt: asked.text, reasons, events, firstTextMs, durationMs, billAt }
}

interface Part {
  readonly done: number
  readonly next: number
  readonly all: number
}

function sliceOf(text: string, { done, next, all }: Part): string {
  return text.slice(Math.round((text.length * done) / all), Math.round((text.length * next) / all))
}

interface Drawing {
  readonly tokens: number
  readonly drift: number
  readonly random: () => number
}

/** Text of a language that the family's tokenizer, and its drift, make so many tokens of. */
function drawText({ tokenizer }: Family, { tokens, drift, random }: Drawing): { text: string; tokens: number } {
  const name = TEXTS[Math.floor(random() * TEXTS.length)]
  const source = CORPUS.texts.find((each) => each.name === name)
  const count = source?.counts[CORPUS.tokenizers.indexOf(tokenizer)]
  if (source === undefined || count === undefined) throw new Error(`The corpus has no ${name} by ${tokenizer}.`)
  const length = Math.round((tokens / (count * drift)) * source.text.length)
  return { text: source.text.repeat(Math.ceil(length / source.text.length)).slice(0, length), tokens }
}

interface Spread {
  readonly median: number
  readonly sigma: number
}

function logNormal({ median, sigma }: Spread, random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return median * Math.exp(sigma * normal)
}
