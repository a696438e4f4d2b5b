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
import { joinBody, type Piece } from './body-pieces.ts'

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
