/** The metrics of the GenAI semantic conventions, counted as the gateway publishes completions. */
import type { CompletionRecord, CompletionSignal, RecordedApi } from '../domain/completion.ts'
import { type AddValue, createHistogram, type Histogram, type Labels, type RenderedHistogram } from './histogram.ts'

/** Series of these metrics; what exceeds them counts as the model `other`. */
const MAX_SERIES = 1_000
export const OTHER_MODEL = 'other'

const OPERATIONS: Readonly<Partial<Record<RecordedApi, string>>> = {
  completions: 'text_completion',
  embeddings: 'embeddings',
  rerank: 'rerank',
}

/** `gen_ai.operation.name`. @param api Undefined: chat completions. */
export function operationOf(api: RecordedApi | undefined): string {
  return (api === undefined ? undefined : OPERATIONS[api]) ?? 'chat'
}

/* Bounds are those that the conventions advise. */
const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, power) => 4 ** power)
const DURATION_BOUNDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)
const FIRST_TOKEN_BOUNDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const PER_TOKEN_BOUNDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]

/** Of one operation, provider, model and outcome. */
interface SeriesSet {
  readonly input: AddValue
  readonly output: AddValue
  readonly duration: AddValue
  readonly firstToken: AddValue
  readonly perToken: AddValue
}

export interface GenAiMetrics {
  note(signal: CompletionSignal): void
  readonly histograms: readonly RenderedHistogram[]
}

/** @param providerName `gen_ai.provider.name` of a configured provider. */
export function countGenAi(providerName: (configured: string) => string): GenAiMetrics {
  const histograms = createHistograms()
  const sets = new Map<string, SeriesSet>()
  return {
    histograms: Object.values(histograms),
    note(signal) {
      const { record } = signal
      const { model } = record
      const key = keyOf(record, model)
      let set = sets.get(key)
      if (set === undefined) {
        const isFull = sets.size >= MAX_SERIES
        const otherKey = keyOf(record, OTHER_MODEL)
        set = isFull ? sets.get(otherKey) : undefined
        set ??= createSet(histograms, labelsOf(record, isFull ? OTHER_MODEL : model, providerName), errorOf(record))
        sets.set(isFull ? otherKey : key, set)
      }
      addTo(set, signal)
    },
  }
}

type Histograms = Readonly<Record<'tokens' | 'duration' | 'firstToken' | 'perToken', Histogram>>

function createHistograms(): Histograms {
  return {
    tokens: createHistogram({
      name: 'gen_ai_client_token_usage',
      otelName: 'gen_ai.client.token.usage',
      unit: '{token}',
      help: 'Tokens of a request, input and output, as charged.',
      bounds: TOKEN_BOUNDS,
    }),
    duration: createHistogram({
      name: 'gen_ai_server_request_duration_seconds',
      otelName: 'gen_ai.server.request.duration',
      help: 'From the request to the end of its response.',
      bounds: DURATION_BOUNDS,
    }),
    firstToken: createHistogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      otelName: 'gen_ai.server.time_to_first_token',
      help: 'From the request to the first byte of a completed answer.',
      bounds: FIRST_TOKEN_BOUNDS,
    }),
    perToken: createHistogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      otelName: 'gen_ai.server.time_per_output_token',
      help: 'Time of a token of output after the first one, in completed streams.',
      bounds: PER_TOKEN_BOUNDS,
    }),
  }
}

function errorOf({ status }: CompletionRecord): string | undefined {
  return status === 'completed' ? undefined : status
}

/** A stream and a whole answer share their series. */
function keyOf({ provider, api, status }: CompletionRecord, model: string): string {
  return `${model} ${provider} ${api ?? ''} ${status}`
}

function labelsOf({ provider, api }: CompletionRecord, model: string, providerName: (name: string) => string): Labels {
  return {
    gen_ai_operation_name: operationOf(api),
    gen_ai_provider_name: providerName(provider),
    gen_ai_request_model: model,
    turnpike_provider: provider,
  }
}

function createSet(
  { tokens, duration, firstToken, perToken }: Histograms,
  labels: Labels,
  error: string | undefined,
): SeriesSet {
  const failed = error === undefined ? labels : { ...labels, error_type: error }
  return {
    input: tokens.series({ ...failed, gen_ai_token_type: 'input' }),
    output: tokens.series({ ...failed, gen_ai_token_type: 'output' }),
    duration: duration.series(failed),
    firstToken: firstToken.series(failed),
    perToken: perToken.series(failed),
  }
}

function addTo(set: SeriesSet, { record, trace }: CompletionSignal): void {
  const { promptTokens, completionTokens, durationMs, firstByteMs, status, stream } = record
  set.input(promptTokens, trace)
  set.output(completionTokens, trace)
  set.duration(durationMs / 1000, trace)
  if (status !== 'completed' || firstByteMs === undefined) return
  set.firstToken(firstByteMs / 1000, trace)
  if (stream && completionTokens > 1) set.perToken((durationMs - firstByteMs) / 1000 / (completionTokens - 1), trace)
}
