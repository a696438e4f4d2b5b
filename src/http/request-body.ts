/**
 * Request bodies: reads them up to a limit within a memory budget, and parses JSON. Small bodies are parsed at once, larger ones
 * one in each iteration of the event loop, round-robin by account, and the largest on another thread.
 */

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import {
  type BodyFindings,
  checkJsonBytes,
  type ParsedBody,
  type ParseLargeBody,
  parseCheckedBody,
  parseJsonBody,
} from '../domain/json-body.ts'
import { createRotation } from '../lib/collections.ts'
import { addressGroup } from '../lib/ip-address.ts'

/** The limit of routes without their own. */
export const DEFAULT_BODY_LIMIT_BYTES = 256 * 1024
/** Parsed at once: takes less than a millisecond. */
const MAX_SMALL_BYTES = 32 * 1024
/** Bodies with more bytes, or more values, are parsed on another thread. */
export const MAX_HERE_BYTES = 1024 * 1024
export const MAX_HERE_VALUES = 10_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Scan results of a body that was parsed on another thread. */
    findings: BodyFindings | undefined
    /**
     * The reservation for a chat completion's body, which stays in memory until the response. The route releases it.
     */
    bodyReservation: BodyReservation | undefined
  }
}

export interface BodyReading {
  readonly budget: BodyBudget
  readonly parseLarge: ParseLargeBody
  /** `METHOD /path` of a chat completion. */
  readonly chatEndpoint: string
}

/** Reads JSON bodies up to the route's limit. Rejects other content types and encodings. */
export function acceptJsonBodies(app: FastifyInstance, reading: BodyReading | undefined): void {
  app.decorateRequest('entry', undefined)
  app.decorateRequest('findings', undefined)
  app.decorateRequest('bodyReservation', undefined)
  const parse: Parse =
    reading === undefined ? (_request, bytes, done) => parseHere(bytes, done) : createParsing(reading)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(['application/json', 'text/json', 'application/scim+json'], (request, payload, done) => {
    const unsupported = unsupportedEncoding(request)
    if (unsupported !== undefined) return void done(unsupported)
    const limit = request.routeOptions.config.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES
    const reserve = reading && ((bytes: number) => reading.budget.reserve(ownerOf(request), bytes))
    const input: BodyInput = { request: request.raw, payload, limit, reserve }
    readBody(input, (error, bytes, reservation) => {
      request.entry?.read()
      const end = (fault: Error | null, body?: unknown): void => {
        if (fault === null && request.routeOptions.config.isChat === true) request.bodyReservation = reservation
        else reservation?.release()
        done(fault, body)
      }
      if (error !== undefined) return end(error)
      // Many clients send a content type without a body.
      if (bytes.length === 0 && request.routeOptions.schema?.body === undefined) return end(null)
      if (bytes.length <= MAX_SMALL_BYTES) return parseHere(bytes, end)
      parse(request, bytes, end)
    })
  })
}

function unsupportedEncoding({ headers }: FastifyRequest): GatewayError | undefined {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return undefined
  return new GatewayError('unsupported_media_type', 'Compressed request bodies are not accepted.')
}

function ownerOf({ caller, ip }: FastifyRequest): BodyOwner {
  if (caller === undefined) return { account: addressGroup(ip), key: undefined }
  return { account: caller.accountId, key: caller.keyId }
}

type Done = (error: Error | null, body?: unknown) => void

function parseHere(bytes: Buffer, done: Done): void {
  let body: unknown
  try {
    body = parseCheckedBody(bytes)
  } catch (fault) {
    return void done(fault as Error) // only errors are thrown
  }
  done(null, body)
}

type Parse = (request: FastifyRequest, bytes: Buffer, done: Done) => void

function createParsing({ parseLarge, chatEndpoint }: BodyReading): Parse {
  const waiting = createRotation<() => void>()
  const parseNext = (): void => {
    const parse = waiting.take()
    if (waiting.size > 0) setImmediate(parseNext)
    parse?.()
  }
  const parseOnThread: Parse = (request, bytes, done) => {
    const { isChat = false, api } = request.routeOptions.config
    const parsing = parseLarge({
      bytes,
      owner: ownerOf(request).account,
      endpoint: isChat ? (api?.endpoint ?? chatEndpoint) : undefined,
      isKeyed: request.headers['idempotency-key'] !== undefined,
      isAbandoned: () => isDisconnected(request),
    })
    const take = ({ body, findings }: ParsedBody): void => {
      request.findings = findings
      done(null, body)
    }
    parsing.then(take, done)
  }
  return (request, bytes, done) => {
    if (bytes.length > MAX_HERE_BYTES) return parseOnThread(request, bytes, done)
    if (waiting.size === 0) setImmediate(parseNext)
    waiting.add(ownerOf(request).account, () => {
      if (isDisconnected(request))
        return done(new GatewayError('client_left', 'The client disconnected before its request was read.'))
      let body: unknown
      try {
        if (checkJsonBytes(bytes).values > MAX_HERE_VALUES) return parseOnThread(request, bytes, done)
        body = parseJsonBody(bytes.toString('utf8'))
      } catch (fault) {
        return done(fault as Error)
      }
      done(null, body)
    })
  }
}

function isDisconnected({ raw }: FastifyRequest): boolean {
  return raw.socket?.destroyed === true
}

/** How long the rest of a rejected body is read and discarded, so that the client reads the response. */
const MAX_DISCARD_MS = 10_000

interface BodyInput {
  readonly request: Pick<IncomingMessage, 'headers'>
  readonly payload: NodeJS.ReadableStream
  /** The limit in bytes. */
  readonly limit: number
  /** Reserves memory; throws `GatewayError` at a limit. Undefined: no limit. */
  readonly reserve: ((bytes: number) => BodyReservation) | undefined
}

/** The listener releases the reservation, also after an error. */
type BodyListener = (error: Error | undefined, bytes: Buffer, reservation: BodyReservation | undefined) => void

interface Reading extends BodyInput {
  readonly done: BodyListener
  /** Undefined without a `content-length`. */
  readonly declared: number | undefined
  chunks: Buffer[]
  received: number
  /** Buffer of a body with content-length that arrives in chunks. */
  whole: Buffer | undefined
  reservation: BodyReservation | undefined
  over: boolean
}

const NOTHING = Buffer.alloc(0)

/** Calls back once. No promises: events of the stream lead to Fastify's own callback. */
function readBody(input: BodyInput, done: BodyListener): void {
  const { request, payload, limit, reserve } = input
  const length = request.headers['content-length']
  const declared = length === undefined ? undefined : Number(length)
  const reading: Reading = {
    request,
    payload,
    limit,
    reserve,
    done,
    declared,
    chunks: [],
    received: 0,
    whole: undefined,
    reservation: undefined,
    over: false,
  }
  if ((declared ?? 0) > limit) return void tooLarge(reading)
  const cut = (cause?: Error): void => {
    if (!reading.over) end(reading, new GatewayError('invalid_json', 'The request body is incomplete.', { cause }))
  }
  payload.on('data', (chunk: Buffer) => addChunk(reading, chunk))
  payload.on('end', () => {
    if (reading.over) return
    end(reading, undefined)
    reading.chunks = [] // the listeners live as long as the request, which may be a long stream
    reading.whole = undefined
  })
  payload.on('error', cut)
  payload.on('close', cut)
}

function addChunk(reading: Reading, chunk: Buffer): void {
  const { declared, limit, received } = reading
  reading.received += chunk.length
  if (reading.received > limit) return void tooLarge(reading)
  if (received === 0 && chunk.length === declared) {
    reading.chunks.push(chunk) // complete in one chunk: no reservation needed
    return
  }
  try {
    if (received === 0) reading.reservation = reading.reserve?.(declared ?? chunk.length)
    else if (declared === undefined) reading.reservation?.grow(chunk.length)
  } catch (error) {
    return void refuse(reading, error as Error) // only errors are thrown
  }
  if (declared === undefined) {
    reading.chunks.push(chunk)
    return
  }
  reading.whole ??= Buffer.allocUnsafeSlow(declared)
  chunk.copy(reading.whole, received)
}

function bytesOf({ chunks, whole, received }: Reading): Buffer {
  if (whole !== undefined) return whole.length === received ? whole : whole.subarray(0, received)
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

function end(reading: Reading, error: Error | undefined): void {
  reading.over = true
  reading.done(error, error === undefined ? bytesOf(reading) : NOTHING, reading.reservation)
}

function tooLarge(reading: Reading): void {
  const message = `Request body exceeds ${reading.limit} bytes.`
  refuse(reading, new GatewayError('body_too_large', message))
}

/** Frees what was read; responds when the client has sent the rest. */
function refuse(reading: Reading, error: Error): void {
  const { payload, limit, reservation } = reading
  reading.over = true
  reading.chunks = []
  reading.whole = undefined
  reservation?.release()
  payload.removeAllListeners('data')
  void discardRest(payload, 2 * limit).then(() => reading.done(error, NOTHING, undefined))
}

/** Reads on, up to `maxBytes` and for 10 s: a client that is still sending does not read a response. */
function discardRest(payload: NodeJS.ReadableStream, maxBytes: number): Promise<void> {
  return new Promise((resolve) => {
    let discarded = 0
    const stop = (): void => {
      clearTimeout(timer)
      payload.removeAllListeners('data')
      payload.pause()
      resolve()
    }
    const timer = setTimeout(stop, MAX_DISCARD_MS)
    payload.on('data', (chunk: Buffer) => {
      discarded += chunk.length
      if (discarded > maxBytes) stop()
    })
    payload.once('end', stop)
    payload.once('close', stop)
    payload.resume()
  })
}

/** The share of the heap limit. A body may be in memory several times: received, parsed, and rendered. */
const HEAP_SHARE = 1 / 8
const ACCOUNT_SHARE = 1 / 2
const KEY_SHARE = 3 / 8
/** Bodies of the largest size that fit, however small the heap is. */
const LEAST_BODIES = 4

interface BodyCaps {
  /** The bytes of all owners, then of an account or address, then of a key. */
  readonly process: number
  readonly account: number
  readonly key: number
}

export function bodyCaps(heapLimitBytes: number, largestBodyBytes: number): BodyCaps {
  const process = Math.max(Math.floor(heapLimitBytes * HEAP_SHARE), LEAST_BODIES * largestBodyBytes)
  return {
    process,
    account: Math.floor(process * ACCOUNT_SHARE),
    key: Math.max(Math.floor(process * KEY_SHARE), largestBodyBytes),
  }
}

interface BodyOwner {
  /** An account, or the address of a client without one. */
  readonly account: string
  readonly key: string | undefined
}

interface BodyReservation {
  /** Reserves more bytes. Throws as `reserve` does, without effect. */
  grow(bytes: number): void
  /** Frees the reservation. Only the first call has an effect. */
  release(): void
}

export interface BodyBudget {
  /** Throws 429 `rate_limit_exceeded` at the owner's limit, 503 `overloaded` at the process's. */
  reserve(owner: BodyOwner, bytes: number): BodyReservation
  /** The bytes in memory, of all owners. */
  readonly used: number
}

const RETRY_AFTER_MS = 1_000

export function createBodyBudget(most: BodyCaps): BodyBudget {
  const owned = new Map<string, number>()
  let used = 0
  function add({ account, key }: BodyOwner, bytes: number): void {
    used += bytes
    change(owned, account, bytes)
    if (key !== undefined) change(owned, key, bytes)
  }
  function check({ account, key }: BodyOwner, bytes: number): void {
    if (key !== undefined && (owned.get(key) ?? 0) + bytes > most.key) throw tooMany('key', most.key)
    if ((owned.get(account) ?? 0) + bytes > most.account) throw tooMany('account', most.account)
    if (used + bytes <= most.process) return
    throw new GatewayError('overloaded', 'The gateway has no memory for another request body.', {
      retryAfterMs: RETRY_AFTER_MS,
    })
  }
  return {
    reserve(owner, first) {
      let bytes = 0
      const grow = (more: number): void => {
        check(owner, more)
        add(owner, more)
        bytes += more
      }
      grow(first)
      return {
        grow,
        release() {
          add(owner, -bytes)
          bytes = 0
        },
      }
    },
    get used() {
      return used
    },
  }
}

function change(owned: Map<string, number>, id: string, bytes: number): void {
  const sum = (owned.get(id) ?? 0) + bytes
  if (sum === 0) owned.delete(id)
  else owned.set(id, sum)
}

function tooMany(owner: string, limit: number): GatewayError {
  const message = `Request bodies in memory exceed ${limit} bytes for this ${owner}.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: RETRY_AFTER_MS })
}
