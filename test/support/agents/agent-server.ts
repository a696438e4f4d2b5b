/** A server with one agent, as far as a client of it can see: its events as a stream, and answers by path. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export const AGENT_ID = 'agt_1'

export interface Asked {
  /** `GET /v1/agents?limit=100` */
  readonly what: string
  readonly lastEventId: string | undefined
  readonly key: string | undefined
  readonly body: unknown
}

export interface Given {
  readonly status?: number
  /** An object is JSON. */
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
  /** The answer is lost on its way. */
  readonly isLost?: boolean
}

export interface AgentServer {
  readonly url: string
  readonly asked: Asked[]
  /** By `METHOD /path`, without query: what is answered in turn, the last one again and again. */
  readonly answers: Map<string, Given[]>
  /** Of the agent; sent to whoever listens. */
  tell(type: string, data: object, createdAt?: string): void
  /** The agent has ended. */
  finish(): void
  /** Breaks every stream. */
  cut(): void
  /** Until it is called again with undefined, streams are refused with this status. */
  refuseStreams(status: number | undefined): void
  listeners(): number
  close(): Promise<void>
}

export async function startAgentServer(): Promise<AgentServer> {
  const asked: Asked[] = []
  const answers = new Map<string, Given[]>()
  const told: string[] = []
  const streams = new Set<ServerResponse>()
  const state: { refusal: number | undefined; isOver: boolean } = { refusal: undefined, isOver: false }
  const stream = (response: ServerResponse, lastEventId: string | undefined) => {
    if (state.refusal !== undefined)
      return answer(response, { status: state.refusal, body: error('overloaded', 'Not now.') })
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.write('retry: 2000\n\n')
    streams.add(response)
    response.on('close', () => streams.delete(response))
    for (const block of told.slice(Math.min(Number(lastEventId ?? 0), told.length))) response.write(block)
    if (state.isOver) response.end(DONE)
  }
  const server = createServer(async (request, response) => {
    const { path, ...one } = await seen(request)
    asked.push(one)
    if (path === `GET /v1/agents/${AGENT_ID}/events`) return stream(response, one.lastEventId)
    const [given = NOTHING, ...others] = answers.get(path) ?? []
    if (others.length > 0) answers.set(path, others)
    answer(response, given)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers,
    tell(type, data, createdAt = '2026-11-20T16:30:00.000Z') {
      const sequence = told.length + 1
      const body = JSON.stringify({ sequence, type, run_id: 'run_1', created_at: createdAt, data })
      const block = `id: ${sequence}\nevent: ${type}\ndata: ${body}\n\n`
      told.push(block)
      for (const response of streams) response.write(block)
    },
    finish() {
      state.isOver = true
      for (const response of streams) response.end(DONE)
    },
    cut() {
      for (const response of streams) response.destroy()
    },
    refuseStreams(status) {
      state.refusal = status
    },
    listeners: () => streams.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const DONE = 'event: done\ndata: {"status":"completed"}\n\n'

function answer(response: ServerResponse, { status = 200, body, headers = {}, isLost = false }: Given): void {
  if (isLost) return void response.destroy()
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function seen(request: IncomingMessage): Promise<Asked & { readonly path: string }> {
  const { method = '', url = '', headers } = request
  const text = (name: string) => (typeof headers[name] === 'string' ? headers[name] : undefined)
  return {
    what: `${method} ${url}`,
    path: `${method} ${url.replace(/\?.*$/, '')}`,
    lastEventId: text('last-event-id'),
    key: text('idempotency-key'),
    body: headers['content-type'] === 'application/json' ? await json(request) : undefined,
  }
}

export function error(code: string, message: string): object {
  return { error: { type: code, code, message } }
}

const NOTHING: Given = { status: 404, body: error('not_found', 'There is nothing here.') }
