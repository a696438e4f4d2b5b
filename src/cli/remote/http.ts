/** Requests to a server somewhere, and plain sentences for what becomes of them. No message has anything that was sent. */
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import { plainLine } from './plain-text.ts'

const MAX_BODY_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 30_000

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** A form when these are parameters. */
  readonly body?: string | URLSearchParams
  readonly signal?: AbortSignal
  /** For the whole answer; 30 s unless said. */
  readonly timeoutMs?: number
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed; undefined when it is not JSON. */
  readonly json: unknown
}

/** Nothing of the server arrived. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

export async function ask(url: string, question: Question = {}): Promise<Answer> {
  const { timeoutMs = TIMEOUT_MS, signal } = question
  const timeout = AbortSignal.timeout(timeoutMs)
  const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
  const response = await open(url, { ...question, signal: both })
  try {
    const text = await readText(response)
    return { status: response.status, headers: response.headers, text, json: parseJson(text) }
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw unreachable(url, error)
  }
}

/** @returns as soon as the head is there. A redirection is refused, since a credential must not wander. */
export async function open(url: string, { method = 'GET', headers = {}, body, signal }: Question): Promise<Response> {
  let response: Response
  try {
    const own = { 'user-agent': userAgent, accept: 'application/json', ...headers }
    const optional = { ...(body === undefined ? {} : { body }), ...(signal === undefined ? {} : { signal }) }
    response = await fetch(url, { method, headers: own, redirect: 'manual', ...optional })
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw unreachable(url, error)
  }
  if (response.status < 300 || response.status > 399) return response
  await response.body?.cancel()
  const target = plainLine(response.headers.get('location') ?? 'another address')
  throw new Error(`${new URL(url).origin} redirects to ${target}. If you trust that address, use it as --url.`)
}

let userAgent = 'turnpike-cli'

/** @param version Of this program, for those who look at a list of their devices. */
export function introduceAs(version: string): void {
  userAgent = `turnpike-cli/${version} (${process.platform})`
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > MAX_BODY_BYTES) throw new Error(`it answered more than ${MAX_BODY_BYTES} bytes`)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

function unreachable(url: string, error: unknown): UnreachableError {
  const { origin } = new URL(url)
  return new UnreachableError(`${origin} cannot be reached: ${reasonOf(error)}.`, { cause: error })
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'nobody knows this name',
  EAI_AGAIN: 'the name cannot be looked up at the moment',
  ENETUNREACH: 'there is no network',
  EHOSTUNREACH: 'there is no way to it',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  UND_ERR_SOCKET: 'the connection was cut',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is its own; NODE_EXTRA_CA_CERTS names a file with those to be trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is its own; NODE_EXTRA_CA_CERTS names a file with those to be trusted',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

/** Why a request got no answer, or only a part of one; words for the end of a sentence. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  if (error.name === 'TimeoutError') return 'it does not answer'
  const { cause } = error
  const code = codeOf(error) ?? codeOf(cause) ?? codeOf(cause instanceof AggregateError ? cause.errors[0] : undefined)
  if (code !== undefined) return REASONS[code] ?? code
  return error.message.startsWith('it answered') ? error.message : 'the request failed'
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What a server says of an error, in either of its two shapes, with what finds it in the log; without the last full stop. */
export function complaintOf({ status, json }: Pick<Answer, 'status' | 'json'>): string {
  if (!isRecord(json)) return `it answered with status ${status}`
  const { error } = json
  if (!isRecord(error)) return sentence(textOf(json['error_description']) || textOf(error) || `status ${status}`)
  const about = [textOf(error['code']), textOf(error['request_id'])].filter((part) => part !== '')
  const message = textOf(error['message']) || `status ${status}`
  return sentence(about.length === 0 ? message : `${message} (${about.join(', ')})`)
}

function sentence(text: string): string {
  return plainLine(text).replace(/\.$/, '')
}
