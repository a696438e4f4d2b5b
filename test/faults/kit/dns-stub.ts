/** A name server on loopback that answers from a table, the same name differently at every turn where that is wished. */
import { createSocket } from 'node:dgram'

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const
export type RecordType = keyof typeof TYPES

export interface DnsRecord {
  readonly type: RecordType
  /** An address, or a name. */
  readonly value: string
  /** Of what the record is about; the name that was asked for by default. */
  readonly name?: string
}

/**
 * By name, in small letters: the answers in turn, the last one for ever. An answer is all the records there are; those of
 * the asked type are given, and every CNAME. A name that is not there does not exist.
 */
export type DnsTable = Readonly<Record<string, readonly (readonly DnsRecord[])[]>>

export interface DnsStub {
  /** As `Resolver.setServers` takes it: `127.0.0.1:port`. */
  readonly server: string
  readonly queries: readonly { readonly name: string; readonly type: string }[]
  close(): Promise<void>
}

/** @param table May be changed by its owner; each (name, type) has a turn of its own. */
export async function startDnsStub(table: DnsTable): Promise<DnsStub> {
  const queries: { name: string; type: string }[] = []
  const turns = new Map<string, number>()
  /**
   * Turns of questions that were asked already: a resolver that was kept waiting asks the same one again. Those that do so
   * from another port, as c-ares does, must be given so long a time-out that they need not.
   */
  const known = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const { name, type, questionEnd } = readQuestion(query)
    const question = `${from.port} ${query.readUInt16BE(0)} ${type} ${name}`
    const turn = known.get(question) ?? turns.get(`${type} ${name}`) ?? 0
    if (!known.has(question)) {
      known.set(question, turn)
      turns.set(`${type} ${name}`, turn + 1)
      queries.push({ name, type })
    }
    const answers = table[name]
    const records = answers?.[Math.min(turn, answers.length - 1)]
    const given = records?.filter((record) => record.type === type || record.type === 'CNAME')
    socket.send(writeAnswer(query.subarray(0, questionEnd), name, given), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    server: `127.0.0.1:${socket.address().port}`,
    queries,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

const HEADER_BYTES = 12

function readQuestion(query: Buffer): { name: string; type: string; questionEnd: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at++] ?? 0; length > 0; length = query[at++] ?? 0) {
    labels.push(query.toString('latin1', at, at + length))
    at += length
  }
  const number = query.readUInt16BE(at)
  const type = Object.entries(TYPES).find(([, known]) => known === number)?.[0] ?? String(number)
  return { name: labels.join('.').toLowerCase(), type, questionEnd: at + 4 }
}

/** @param records Undefined: there is no such name. */
function writeAnswer(question: Buffer, asked: string, records: readonly DnsRecord[] | undefined): Buffer {
  const head = Buffer.from(question.subarray(0, HEADER_BYTES))
  head.writeUInt16BE(records === undefined ? 0x8583 : 0x8580, 2) // an answer, authoritative, recursion; 3 = no such name
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records?.length ?? 0, 6)
  head.writeUInt32BE(0, 8)
  const answers = (records ?? []).map((record) => writeRecord(record, asked))
  return Buffer.concat([head, question.subarray(HEADER_BYTES), ...answers])
}

function writeRecord({ type, value, name }: DnsRecord, asked: string): Buffer {
  const data =
    type === 'A' ? Buffer.from(value.split('.').map(Number)) : type === 'AAAA' ? ipv6(value) : writeName(value)
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(TYPES[type], 0)
  fixed.writeUInt16BE(1, 2) // IN
  fixed.writeUInt32BE(0, 4) // not to be kept: the next question is to get the next answer
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([writeName(name ?? asked), fixed, data])
}

function writeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '')
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]),
    Buffer.alloc(1),
  ])
}

/** @param text Without an IPv4 part. */
function ipv6(text: string): Buffer {
  const [before = '', after = ''] = text.split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const tail = groups(after)
  const middle = Array.from({ length: 8 - groups(before).length - tail.length }, () => 0)
  const bytes = Buffer.alloc(16)
  for (const [index, group] of [...groups(before), ...middle, ...tail].entries()) bytes.writeUInt16BE(group, index * 2)
  return bytes
}
