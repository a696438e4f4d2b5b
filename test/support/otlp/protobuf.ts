/**
 * A strict decoder of the messages of OTLP, written from the specification's .proto files and not from the code that encodes
 * them: an unknown field, a wrong wire type or bytes left over are errors.
 */

type Kind = 'string' | 'bytes' | 'fixed64' | 'double' | 'fixed32' | 'varint' | 'bool' | Message
interface Field {
  readonly name: string
  readonly kind: Kind
  readonly many?: boolean
}
interface Message {
  readonly fields: () => Readonly<Record<number, Field>>
}

const message = (fields: () => Readonly<Record<number, Field>>): Message => ({ fields })
const one = (name: string, kind: Kind): Field => ({ name, kind })
const many = (name: string, kind: Kind): Field => ({ name, kind, many: true })

const ANY_VALUE: Message = message(() => ({
  1: one('stringValue', 'string'),
  2: one('boolValue', 'bool'),
  3: one('intValue', 'varint'),
  4: one('doubleValue', 'double'),
  5: one(
    'arrayValue',
    message(() => ({ 1: many('values', ANY_VALUE) })),
  ),
  6: one(
    'kvlistValue',
    message(() => ({ 1: many('values', KEY_VALUE) })),
  ),
  7: one('bytesValue', 'bytes'),
}))
const KEY_VALUE: Message = message(() => ({ 1: one('key', 'string'), 2: one('value', ANY_VALUE) }))
const RESOURCE = message(() => ({ 1: many('attributes', KEY_VALUE), 2: one('droppedAttributesCount', 'varint') }))
const SCOPE = message(() => ({
  1: one('name', 'string'),
  2: one('version', 'string'),
  3: many('attributes', KEY_VALUE),
  4: one('droppedAttributesCount', 'varint'),
}))
const EVENT = message(() => ({
  1: one('timeUnixNano', 'fixed64'),
  2: one('name', 'string'),
  3: many('attributes', KEY_VALUE),
  4: one('droppedAttributesCount', 'varint'),
}))
const SPAN = message(() => ({
  1: one('traceId', 'bytes'),
  2: one('spanId', 'bytes'),
  3: one('traceState', 'string'),
  4: one('parentSpanId', 'bytes'),
  5: one('name', 'string'),
  6: one('kind', 'varint'),
  7: one('startTimeUnixNano', 'fixed64'),
  8: one('endTimeUnixNano', 'fixed64'),
  9: many('attributes', KEY_VALUE),
  10: one('droppedAttributesCount', 'varint'),
  11: many('events', EVENT),
  12: one('droppedEventsCount', 'varint'),
  14: one('droppedLinksCount', 'varint'),
  15: one(
    'status',
    message(() => ({ 2: one('message', 'string'), 3: one('code', 'varint') })),
  ),
  16: one('flags', 'fixed32'),
}))
const EXEMPLAR = message(() => ({
  2: one('timeUnixNano', 'fixed64'),
  3: one('asDouble', 'double'),
  4: one('spanId', 'bytes'),
  5: one('traceId', 'bytes'),
  6: one('asInt', 'fixed64'),
  7: many('filteredAttributes', KEY_VALUE),
}))
const NUMBER_POINT = message(() => ({
  2: one('startTimeUnixNano', 'fixed64'),
  3: one('timeUnixNano', 'fixed64'),
  4: one('asDouble', 'double'),
  5: many('exemplars', EXEMPLAR),
  6: one('asInt', 'fixed64'),
  7: many('attributes', KEY_VALUE),
  8: one('flags', 'varint'),
}))
const HISTOGRAM_POINT = message(() => ({
  2: one('startTimeUnixNano', 'fixed64'),
  3: one('timeUnixNano', 'fixed64'),
  4: one('count', 'fixed64'),
  5: one('sum', 'double'),
  6: many('bucketCounts', 'fixed64'),
  7: many('explicitBounds', 'double'),
  8: many('exemplars', EXEMPLAR),
  9: many('attributes', KEY_VALUE),
  10: one('flags', 'varint'),
  11: one('min', 'double'),
  12: one('max', 'double'),
}))
const METRIC = message(() => ({
  1: one('name', 'string'),
  2: one('description', 'string'),
  3: one('unit', 'string'),
  5: one(
    'gauge',
    message(() => ({ 1: many('dataPoints', NUMBER_POINT) })),
  ),
  7: one(
    'sum',
    message(() => ({
      1: many('dataPoints', NUMBER_POINT),
      2: one('aggregationTemporality', 'varint'),
      3: one('isMonotonic', 'bool'),
    })),
  ),
  9: one(
    'histogram',
    message(() => ({ 1: many('dataPoints', HISTOGRAM_POINT), 2: one('aggregationTemporality', 'varint') })),
  ),
}))
const LOG = message(() => ({
  1: one('timeUnixNano', 'fixed64'),
  2: one('severityNumber', 'varint'),
  3: one('severityText', 'string'),
  5: one('body', ANY_VALUE),
  6: many('attributes', KEY_VALUE),
  7: one('droppedAttributesCount', 'varint'),
  8: one('flags', 'fixed32'),
  9: one('traceId', 'bytes'),
  10: one('spanId', 'bytes'),
  11: one('observedTimeUnixNano', 'fixed64'),
  12: one('eventName', 'string'),
}))
function request(resources: string, scopes: string, items: string, item: Message): Message {
  const ofScope = message(() => ({ 1: one('scope', SCOPE), 2: many(items, item), 3: one('schemaUrl', 'string') }))
  const ofResource = message(() => ({
    1: one('resource', RESOURCE),
    2: many(scopes, ofScope),
    3: one('schemaUrl', 'string'),
  }))
  return message(() => ({ 1: many(resources, ofResource) }))
}

export const REQUESTS = {
  traces: request('resourceSpans', 'scopeSpans', 'spans', SPAN),
  metrics: request('resourceMetrics', 'scopeMetrics', 'metrics', METRIC),
  logs: request('resourceLogs', 'scopeLogs', 'logRecords', LOG),
} as const

/** Decodes a message to the shape that OTLP/JSON has: IDs as hexadecimal, 64-bit integers as text. */
export function decode(bytes: Buffer, { fields }: Message): Record<string, unknown> {
  const known = fields()
  const result: Record<string, unknown> = {}
  for (const field of Object.values(known)) if (field.many) result[field.name] = []
  const reader = createReader(bytes)
  while (!reader.done()) {
    const key = Number(reader.varint())
    const field = known[key >>> 3]
    if (field === undefined) throw new Error(`There is no field ${key >>> 3} beside ${Object.keys(known).join()}.`)
    const values = readValues(reader, field, key & 7)
    if (field.many) (result[field.name] as unknown[]).push(...values)
    else [result[field.name]] = values
  }
  return result
}

const WIRE_TYPES: Readonly<Record<string, number>> = { varint: 0, bool: 0, fixed64: 1, double: 1, fixed32: 5 }

function readValues(reader: Reader, { name, kind, many: isMany }: Field, wireType: number): unknown[] {
  const expected = typeof kind === 'string' ? (WIRE_TYPES[kind] ?? 2) : 2
  if (isMany && expected !== 2 && wireType === 2) {
    const packed = createReader(reader.bytes())
    const values: unknown[] = []
    while (!packed.done()) values.push(readValue(packed, kind))
    return values
  }
  if (wireType !== expected) throw new Error(`Field '${name}' has the wire type ${wireType}, not ${expected}.`)
  return [readValue(reader, kind)]
}

function readValue(reader: Reader, kind: Kind): unknown {
  if (typeof kind !== 'string') return decode(reader.bytes(), kind)
  switch (kind) {
    case 'string':
      return new TextDecoder('utf-8', { fatal: true }).decode(reader.bytes())
    case 'bytes':
      return reader.bytes().toString('hex')
    case 'varint':
      return Number(BigInt.asIntN(64, reader.varint()))
    case 'bool':
      return reader.varint() === 1n
    case 'fixed64':
      return String(reader.take(8).readBigUInt64LE())
    case 'double':
      return reader.take(8).readDoubleLE()
    case 'fixed32':
      return reader.take(4).readUInt32LE()
  }
}

type Reader = ReturnType<typeof createReader>

function createReader(bytes: Buffer) {
  let at = 0
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('The message is cut.')
    at += length
    return bytes.subarray(at - length, at)
  }
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte = 0] = take(1)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new Error('A varint is longer than 10 bytes.')
  }
  return { take, varint, done: () => at === bytes.length, bytes: () => take(Number(varint())) }
}
