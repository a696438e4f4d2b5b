/** The standard environment variables of OpenTelemetry. What is invalid is ignored with a warning, as the standard asks. */
import { type MergedEnvironment, SETTING_VARIABLES, VARIABLE_FILE_SUFFIX } from './environment.ts'

export type OtelSignal = 'traces' | 'metrics' | 'logs'

export type OtelExporter = 'otlp' | 'console' | 'none'

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export interface OtlpTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly gzip: boolean
  readonly timeoutMs: number
}

interface OtelBatch {
  readonly maxQueue: number
  readonly maxBatch: number
  readonly delayMs: number
}

export interface OtelSettings {
  readonly exporters: Readonly<Record<OtelSignal, OtelExporter>>
  readonly targets: Readonly<Record<OtelSignal, OtlpTarget>>
  readonly sampler: (typeof SAMPLERS)[number]
  /** Share of traces, from 0 to 1. */
  readonly samplerRatio: number
  readonly serviceName: string
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly batches: Readonly<Record<'traces' | 'logs', OtelBatch>>
  readonly metricIntervalMs: number
  /** The parts of a context that are read and passed on; baggage only with the rest. */
  readonly propagators: { readonly context: boolean; readonly baggage: boolean }
  /** What was ignored. */
  readonly warnings: readonly string[]
}

const DEFAULT_ENDPOINT = 'http://localhost:4318'

/** @returns Settings of all signals; none is exported where nothing asks for it. */
export function readOtel(
  { get, names }: Pick<MergedEnvironment, 'get' | 'names'>,
  endpoint: string | undefined,
): OtelSettings {
  const warnings: string[] = []
  const known = new Set(SETTING_VARIABLES.keys())
  const getKnown = (name: string): string | undefined => {
    known.add(name)
    return get(name)
  }
  const reader = createReader(getKnown, warnings)
  const isDisabled = reader.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const target = (signal: OtelSignal) => targetOf(reader, signal, endpoint)
  const exporter = (signal: OtelSignal): OtelExporter => {
    const chosen = exporterOf(reader, signal, endpoint)
    return isDisabled ? 'none' : chosen
  }
  const resourceAttributes = pairsOf(reader, 'OTEL_RESOURCE_ATTRIBUTES')
  const { [NAME]: name = 'turnpike', ...others } = resourceAttributes
  const sampler = reader.oneOf('OTEL_TRACES_SAMPLER', SAMPLERS) ?? 'parentbased_always_on'
  const traceBatch = batchOf(reader, 'BSP', { maxQueue: 2_048, maxBatch: 512, delayMs: 5_000 })
  const settings = {
    exporters: { traces: exporter('traces'), metrics: exporter('metrics'), logs: exporter('logs') },
    targets: { traces: target('traces'), metrics: target('metrics'), logs: target('logs') },
    sampler,
    samplerRatio: ratioOf(reader, sampler),
    serviceName: reader.text('OTEL_SERVICE_NAME') ?? name,
    resourceAttributes: others,
    batches: { traces: traceBatch, logs: batchOf(reader, 'BLRP', traceBatch) },
    metricIntervalMs: reader.count('OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    propagators: propagatorsOf(reader),
  }
  const unread = names('OTEL_').filter((name) => !known.has(name) && !known.has(baseOf(name)))
  if (unread.length > 0) warnings.push(`${unread.toSorted().join(', ')}: not supported; ignored`)
  return { ...settings, warnings }
}

function baseOf(name: string): string {
  return name.endsWith(VARIABLE_FILE_SUFFIX) ? name.slice(0, -VARIABLE_FILE_SUFFIX.length) : name
}

const NAME = 'service.name'

interface Reader {
  /** Undefined for an empty one, too. */
  text(name: string): string | undefined
  count(name: string, standard: number): number
  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined
  warn(name: string, text: string): void
}

function createReader(get: MergedEnvironment['get'], warnings: string[]): Reader {
  const warn = (name: string, text: string): void => void warnings.push(`${name}: ${text}`)
  const text = (name: string): string | undefined => {
    const value = get(name)?.trim()
    return value === '' ? undefined : value
  }
  return {
    text,
    warn,
    count(name, standard) {
      const value = text(name)
      if (value === undefined) return standard
      if (/^\d{1,9}$/.test(value) && Number(value) > 0) return Number(value)
      warn(name, `found ${JSON.stringify(value)}, allowed: a whole number from 1; ${standard} is used`)
      return standard
    },
    oneOf(name, choices) {
      const value = text(name)?.toLowerCase()
      const known = choices.find((each) => each === value)
      if (value !== undefined && known === undefined)
        warn(name, `found ${JSON.stringify(value)}, allowed: ${choices.join(', ')}; ignored`)
      return known
    },
  }
}

const EXPORTERS = ['otlp', 'console', 'prometheus', 'none'] as const

/**
 * The service's own log and `/metrics` are always there, so that `console` and `prometheus` add nothing, and logs are exported
 * only where a variable says so.
 */
function exporterOf(reader: Reader, signal: OtelSignal, endpoint: string | undefined): OtelExporter {
  const chosen = reader.oneOf(`OTEL_${signal.toUpperCase()}_EXPORTER`, EXPORTERS)
  if (chosen === undefined) {
    const isAny = endpoint !== undefined && signal !== 'logs'
    const hasEndpoint = isAny || reader.text(variableOf(signal, 'ENDPOINT')) !== undefined
    return hasEndpoint ? 'otlp' : 'none'
  }
  if (chosen === 'otlp') return 'otlp'
  return chosen === 'console' && signal === 'traces' ? 'console' : 'none'
}

function variableOf(signal: OtelSignal, name: string): string {
  return `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const

function targetOf(reader: Reader, signal: OtelSignal, endpoint = DEFAULT_ENDPOINT): OtlpTarget {
  const either = <Value>(read: (name: string) => Value | undefined, name: string): Value | undefined => {
    const ofAll = read(`OTEL_EXPORTER_OTLP_${name}`)
    return read(variableOf(signal, name)) ?? ofAll
  }
  const own = urlOf(reader, variableOf(signal, 'ENDPOINT'))
  const headers = {
    ...pairsOf(reader, 'OTEL_EXPORTER_OTLP_HEADERS'),
    ...pairsOf(reader, variableOf(signal, 'HEADERS')),
  }
  return {
    url: own ?? `${endpoint.replace(/\/$/, '')}/v1/${signal}`,
    headers,
    protocol: either((name) => reader.oneOf(name, PROTOCOLS), 'PROTOCOL') ?? 'http/protobuf',
    gzip: either((name) => reader.oneOf(name, ['gzip', 'none']), 'COMPRESSION') === 'gzip',
    timeoutMs: reader.count(variableOf(signal, 'TIMEOUT'), reader.count('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000)),
  }
}

function urlOf(reader: Reader, name: string): string | undefined {
  const value = reader.text(name)
  if (value === undefined || /^https?:\/\/./.test(value)) return value
  reader.warn(name, `found ${JSON.stringify(value)}, allowed: an http:// or https:// address; ignored`)
  return undefined
}

/** `key=value,key=value`, percent-encoded, as W3C Baggage writes it. Values are secrets: no warning has them. */
function pairsOf(reader: Reader, name: string): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {}
  for (const part of reader.text(name)?.split(',') ?? []) {
    const at = part.indexOf('=')
    const key = part.slice(0, Math.max(0, at)).trim()
    try {
      if (key === '') throw new Error('There is no key.')
      pairs[decodeURIComponent(key)] = decodeURIComponent(part.slice(at + 1).trim())
    } catch {
      reader.warn(name, 'found a part that is not key=value with percent-encoding; ignored')
    }
  }
  return pairs
}

function ratioOf(reader: Reader, sampler: string): number {
  const value = reader.text('OTEL_TRACES_SAMPLER_ARG')
  if (value === undefined || !sampler.endsWith('traceidratio')) return 1
  const ratio = Number(value)
  if (ratio >= 0 && ratio <= 1) return ratio
  reader.warn('OTEL_TRACES_SAMPLER_ARG', `found ${JSON.stringify(value)}, allowed: 0 to 1; 1 is used`)
  return 1
}

/** Log records have the limits of spans, unless variables set their own. */
function batchOf(reader: Reader, processor: 'BSP' | 'BLRP', standard: OtelBatch): OtelBatch {
  const count = (name: string, value: number): number => reader.count(`OTEL_${processor}_${name}`, value)
  const maxQueue = count('MAX_QUEUE_SIZE', standard.maxQueue)
  const maxBatch = Math.min(maxQueue, count('MAX_EXPORT_BATCH_SIZE', standard.maxBatch))
  return { maxQueue, maxBatch, delayMs: count('SCHEDULE_DELAY', standard.delayMs) }
}

const PROPAGATORS: ReadonlySet<string> = new Set(['tracecontext', 'baggage', 'none'])

function propagatorsOf(reader: Reader): OtelSettings['propagators'] {
  const name = 'OTEL_PROPAGATORS'
  const chosen = reader
    .text(name)
    ?.toLowerCase()
    .split(/\s*,\s*/) ?? ['tracecontext', 'baggage']
  const unknown = chosen.filter((each) => !PROPAGATORS.has(each))
  if (unknown.length > 0)
    reader.warn(name, `found ${JSON.stringify(unknown.join())}, allowed: ${[...PROPAGATORS].join(', ')}; ignored`)
  return { context: chosen.includes('tracecontext'), baggage: chosen.includes('baggage') }
}
