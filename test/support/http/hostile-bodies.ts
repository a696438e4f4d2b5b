/** Request bodies that are meant to stall a gateway or to fill its memory, and clients that send them over plain sockets. */
import { connect, type Socket } from 'node:net'

const MEBI = 1024 * 1024

/** A chat completion with `text` as one more field. */
function chat(text: string, model: string, content = '"x"'): string {
  return `{"model":"${model}","messages":[{"role":"user","content":${content}}],"extra":${text}}`
}

function repeated(item: (at: number) => string, bytes: number): string {
  const items: string[] = []
  for (let length = 0, at = 0; length < bytes; at++) {
    const text = item(at)
    items.push(text)
    length += text.length + 1
  }
  return items.join(',')
}

/** Lists of 9,000 items each: no list is too long. */
function lists(item: string, bytes: number): string {
  const list = `[${`${item},`.repeat(8_999)}${item}]`
  return `[${repeated(() => list, bytes)}]`
}

/** By name; each gets a model and about so many bytes. */
const HOSTILE_BODIES: Readonly<Record<string, (model: string, bytes: number) => Buffer>> = {
  'distinct names': (model, bytes) => Buffer.from(chat(`{${repeated((at) => `"k${at}":0`, bytes)}}`, model)),
  'names within the limits': (model) =>
    Buffer.from(chat(`{${Array.from({ length: 19_000 }, (_, at) => `"k${at}":0`)}}`, model)),
  'deep nesting': (model, bytes) => Buffer.from(chat('['.repeat(bytes), model)),
  'small values': (model, bytes) => Buffer.from(chat(lists('[]', bytes), model)),
  'values within the limits': (model) => Buffer.from(chat(lists('[]', 560_000), model)),
  'escaped quotes': (model, bytes) => Buffer.from(chat('0', model, `"${'\\"'.repeat(bytes / 2)}"`)),
  'escaped controls': (model, bytes) => Buffer.from(chat('0', model, `"${'\\u0001'.repeat(bytes / 6)}"`)),
  backslashes: (model, bytes) => Buffer.from(chat('0', model, `"${'\\\\'.repeat(bytes / 2)}"`)),
  words: (model, bytes) => Buffer.from(chat('0', model, `"${'the quick brown fox '.repeat(bytes / 20)}"`)),
  'a long number': (model, bytes) => Buffer.from(chat('1'.repeat(bytes), model)),
  'a number out of range': (model, bytes) => Buffer.from(chat(`1e${'9'.repeat(bytes)}`, model)),
  'no UTF-8 at the end': (model, bytes) =>
    Buffer.concat([
      Buffer.from(chat('0', model).slice(0, -2)),
      Buffer.from(` "${'é'.repeat(bytes / 2)}`),
      Buffer.of(255),
    ]),
  'no end': (model, bytes) => Buffer.from(chat('0', model, `"${'x'.repeat(bytes)}`).slice(0, -20)),
}

export interface HostileTarget {
  readonly port: number
  readonly key: string
  readonly model: string
}

function headOf({ key }: HostileTarget, length: number): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
}

/** The status of the answer; 0: the connection ended without one. */
export function sendBody(target: HostileTarget, body: Buffer): Promise<number> {
  const socket = connect(target.port, '127.0.0.1')
  return new Promise((resolve) => {
    let received = ''
    const end = (): void => {
      socket.destroy()
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0))
    }
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (received.includes('\r\n\r\n')) end()
    })
    socket.on('error', () => {})
    socket.on('close', end)
    socket.write(headOf(target, body.length))
    socket.write(body)
  })
}

/** Announces so many bytes and sends one. */
function beginSlowBody(target: HostileTarget, bytes: number): Socket {
  const socket = connect(target.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${headOf(target, bytes)}{`)
  return socket
}

export interface Assault {
  /** Each kind is sent so many times at once. */
  readonly atOnce: number
  readonly bytes: number
  /** Connections that announce a body and do not send it. */
  readonly slow: number
}

/** Sends every kind, one kind after another. @returns how many answers had each status. */
export async function assault(target: HostileTarget, { atOnce, bytes, slow }: Assault): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const idle = Array.from({ length: slow }, () => beginSlowBody(target, 4 * MEBI))
  for (const make of Object.values(HOSTILE_BODIES)) {
    const body = make(target.model, bytes)
    const answers = await Promise.all(Array.from({ length: atOnce }, () => sendBody(target, body)))
    for (const status of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  for (const socket of idle) socket.destroy()
  return statuses
}
