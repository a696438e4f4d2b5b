/** Sends requests to a server and describes failures. Messages never contain the request. */
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import { plainLine } from '../output.ts'

const MAX_BODY_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 30_000

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Parameters are sent as a form. */
  readonly body?: string | URLSearchParams
  readonly signal?: AbortSignal
  /** For the whole response (default: 30 s). */
  readonly timeoutMs?: number
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed; undefined when it is not JSON. */
  readonly json: unknown
}

/** The server sent no response. */
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

/** Resolves with the response headers. Redirects are rejected, since they would receive the credential. */
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
  throw new Error(`${new URL(url).origin} redirects to ${target}. If you trust that address, pass it as --url.`)
}

let userAgent = 'turnpike-cli'

/** Sets the version in `User-Agent`, which lists of devices show. */
export function setClientVersion(version: string): void {
  userAgent = `turnpike-cli/${version} (${process.platform})`
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > MAX_BODY_BYTES) throw new Error(`the response exceeds ${MAX_BODY_BYTES} bytes`)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

function unreachable(url: string, error: unknown): UnreachableError {
  const { origin } = new URL(url)
  return new UnreachableError(`${origin} is unreachable: ${reasonOf(error)}.`, { cause: error })
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'DNS lookup failed',
  ENETUNREACH: 'network unreachable',
  EHOSTUNREACH: 'no route to host',
  ETIMEDOUT: 'timed out',
  UND_ERR_CONNECT_TIMEOUT: 'timed out',
  UND_ERR_SOCKET: 'connection reset',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate; set NODE_EXTRA_CA_CERTS to a file of trusted certificates',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate; set NODE_EXTRA_CA_CERTS to a file of trusted certificates',
  CERT_HAS_EXPIRED: 'certificate expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate is for another host name',
}

/** Describes why a response is missing or incomplete, without a full stop. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  if (error.name === 'TimeoutError') return 'timed out'
  const { cause } = error
  const code = codeOf(error) ?? codeOf(cause) ?? codeOf(cause instanceof AggregateError ? cause.errors[0] : undefined)
  if (code !== undefined) return REASONS[code] ?? code
  return error.message.startsWith('the response exceeds') ? error.message : 'the request failed'
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns the error message of a response, in either error format, with its code and request ID, without a full stop. */
export function errorTextOf({ status, json }: Pick<Answer, 'status' | 'json'>): string {
  if (!isRecord(json)) return `unexpected status ${status}`
  const { error } = json
  if (!isRecord(error)) return sentence(textOf(json['error_description']) || textOf(error) || `status ${status}`)
  const about = [textOf(error['code']), textOf(error['request_id'])].filter((part) => part !== '')
  const message = textOf(error['message']) || `status ${status}`
  return sentence(about.length === 0 ? message : `${message} (${about.join(', ')})`)
}

function sentence(text: string): string {
  return plainLine(text).replace(/\.$/, '')
}
