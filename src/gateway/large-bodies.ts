/**
 * Parses large request bodies on a separate thread, one at a time, round-robin over their owners, so that an account
 * with many bodies delays no other. The parsed body arrives in pieces, each in its own iteration of the event loop. The
 * thread starts with the first body and ends after an idle minute.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import type { BodyFindings, LargeBody, ParsedBody, ParseLargeBody } from '../domain/json-body.ts'
import { createRotation, type Rotation } from '../lib/collections.ts'
import { isRecord, type Json } from '../lib/json.ts'

/** How long the thread stays idle before it ends, which frees its memory. */
const IDLE_MS = 60_000

export interface BodyRequest {
  readonly bytes: Uint8Array
  readonly endpoint: string | undefined
  readonly isKeyed: boolean
}

export interface BodyPiece {
  readonly piece: Piece
  readonly isLast: boolean
  /** Set on the first piece. */
  readonly findings?: BodyFindings
}

/** The message `next` requests another piece. */
export type BodyReply = BodyPiece | { readonly fault: { readonly code: ErrorCode; readonly message: string } }

export interface LargeBodies {
  readonly parse: ParseLargeBody
  close(): Promise<void>
}

interface Job extends LargeBody {
  readonly resolve: (parsed: ParsedBody) => void
  readonly reject: (error: GatewayError) => void
}

interface Running extends Job {
  findings: BodyFindings | undefined
  readonly add: ReturnType<typeof joinBody>
}

interface State {
  readonly waiting: Rotation<Job>
  worker: Worker | undefined
  running: Running | undefined
  idle: NodeJS.Timeout | undefined
}

export function createLargeBodies(): LargeBodies {
  const state: State = { waiting: createRotation(), worker: undefined, running: undefined, idle: undefined }
  return {
    parse(body) {
      const { promise, resolve, reject } = Promise.withResolvers<ParsedBody>()
      state.waiting.add(body.owner, { ...body, resolve, reject })
      if (state.running === undefined) startNext(state)
      return promise
    },
    async close() {
      clearTimeout(state.idle)
      await state.worker?.terminate()
    },
  }
}

function startNext(state: State): void {
  clearTimeout(state.idle)
  state.running = undefined
  let job = state.waiting.take()
  while (job?.isAbandoned()) {
    job.reject(new GatewayError('client_left', 'The client disconnected before its request was read.'))
    job = state.waiting.take()
  }
  if (job === undefined) {
    state.idle = setTimeout(() => void state.worker?.terminate(), IDLE_MS)
    state.idle.unref()
    return
  }
  state.running = { ...job, findings: undefined, add: joinBody() }
  state.worker ??= startWorker(state)
  const { bytes, endpoint, isKeyed } = job
  const own = ownBytes(bytes)
  state.worker.postMessage({ bytes: own, endpoint, isKeyed } satisfies BodyRequest, [own.buffer])
}

/** Returns the bytes in a buffer of their own, which moves to another thread without a copy. */
function ownBytes(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes)
}

/** Restores a `Buffer`, which arrives as a plain array of bytes but which database drivers require. */
function withBuffer(findings: BodyFindings): BodyFindings {
  const { fingerprint } = findings
  return { ...findings, fingerprint: fingerprint && Buffer.from(fingerprint) }
}

/** @returns whether this was the last reply for the body. */
function accept(running: Running | undefined, reply: BodyReply): boolean {
  if (running === undefined) return true
  if ('fault' in reply) {
    running.reject(new GatewayError(reply.fault.code, reply.fault.message))
    return true
  }
  if (reply.findings !== undefined) running.findings = withBuffer(reply.findings)
  const body = running.add(reply.piece)
  if (reply.isLast && running.findings !== undefined) running.resolve({ body, findings: running.findings })
  return reply.isLast
}

function requestPiece({ worker }: State): void {
  worker?.postMessage('next')
}

function startWorker(state: State): Worker {
  const worker = new Worker(new URL(`./body-worker${extname(import.meta.url)}`, import.meta.url), {
    execArgv: [], // flags of the process may apply to its entry point only
    name: 'request bodies',
  })
  worker.unref()
  worker.on('message', (reply: BodyReply) => {
    // The event loop serves other connections and resolved requests before the next piece or body.
    setImmediate(accept(state.running, reply) ? startNext : requestPiece, state)
  })
  let cause: unknown
  worker.once('error', (error) => {
    cause = error
  })
  worker.once('exit', () => {
    if (state.worker === worker) state.worker = undefined
    if (state.running === undefined) return
    state.running.reject(new GatewayError('overloaded', 'The request body could not be read.', { cause }))
    startNext(state)
  })
  return worker
}

/*
 * Splits a parsed body into pieces of a few thousand values, and joins them. A thread that receives a body of a
 * hundred thousand objects as a whole copies it in one step, which would block its event loop. Pure.
 */

/** The values of a piece. Copying this many takes a few milliseconds. */
export const PIECE_VALUES = 4_000

/** Adjacent values of a container. Containers are numbered in the order of the pieces; 0 is the body. */
interface Part {
  readonly container: number
  /** The names of the values. Undefined if the container is an array. */
  readonly names: string[] | undefined
  readonly values: unknown[]
  /** The only value is an empty container with the next number, which later parts fill. */
  readonly isOpen: boolean
}

export type Piece = readonly Part[]

/** Splits a body into pieces of less than twice `size` values. */
export function splitBody(body: Json, size: number = PIECE_VALUES): Generator<Piece, void> {
  const counts = new Map<object, number>()
  countValues(body, counts)
  const state: Split = { counts, size, piece: [], values: 0, containers: 0 }
  return split(state, body)
}

interface Split {
  /** The number of values in each container, including the container. */
  readonly counts: ReadonlyMap<object, number>
  readonly size: number
  piece: Part[]
  /** The number of values in `piece`. */
  values: number
  containers: number
}

function* split(state: Split, body: Json): Generator<Piece, void> {
  yield* fill(state, 0, body)
  yield state.piece
}

function* fill(state: Split, container: number, from: object): Generator<Piece, void> {
  const isArray = Array.isArray(from)
  for (const [name, value] of Object.entries(from)) {
    const count = isContainer(value) ? (state.counts.get(value) ?? 1) : 1
    const isOpen = count > state.size
    add(state.piece, {
      container,
      names: isArray ? undefined : [name],
      values: [isOpen ? emptyLike(value) : value],
      isOpen,
    })
    state.values += isOpen ? 1 : count
    if (state.values >= state.size) {
      yield state.piece
      state.piece = []
      state.values = 0
    }
    if (isOpen) yield* fill(state, ++state.containers, value as object) // only containers have so many values
  }
}

/** Appends one value to the last part if that is adjacent, else adds a part. */
function add(piece: Part[], part: Part): void {
  const last = piece.at(-1)
  if (last === undefined || last.isOpen || part.isOpen || last.container !== part.container)
    return void piece.push(part)
  last.values.push(...part.values)
  last.names?.push(...(part.names ?? []))
}

function emptyLike(value: unknown): object {
  return Array.isArray(value) ? [] : {}
}

/** @returns a function that adds a piece and returns the body so far. */
export function joinBody(): (piece: Piece) => Json {
  const body: Record<string, unknown> = {}
  const containers: (Record<string, unknown> | unknown[])[] = [body]
  return (piece) => {
    for (const { container, names = [], values, isOpen } of piece) {
      const target = containers[container]
      if (Array.isArray(target)) for (const value of values) target.push(value)
      else if (target !== undefined) for (const [at, name] of names.entries()) target[name] = values[at]
      if (isOpen) containers.push(values[0] as Record<string, unknown> | unknown[]) // as `emptyLike` made it
    }
    return body
  }
}

function isContainer(value: unknown): value is object {
  return Array.isArray(value) || isRecord(value)
}

function countValues(value: unknown, counts: Map<object, number>): number {
  if (!isContainer(value)) return 1
  let count = 1
  for (const inner of Object.values(value)) count += countValues(inner, counts)
  counts.set(value, count)
  return count
}
