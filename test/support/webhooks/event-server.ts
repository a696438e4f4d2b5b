/** A server with events and endpoints, as far as a client of it can see: `/v1/events`, its stream, and answers by path. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface Asked {
  /** `GET /v1/webhooks?limit=100` */
  readonly what: string
  readonly lastEventId: string | undefined
  readonly authorization: string | undefined
  readonly body: unknown
}

export interface Given {
  readonly status?: number
  readonly body?: object
}

export interface EventServer {
  readonly url: string
  readonly asked: Asked[]
  /** By `METHOD /path`, without query. */
  readonly answers: Map<string, Given>
  /** Records an event, and sends it to whoever listens. */
  record(event: SentEvent): void
  /** Writes something to whoever listens. */
  write(text: string): void
  /** Ends every stream by breaking the connection. */
  cut(): void
  /** Until it is called again with undefined, streams are refused with this status. */
  refuseStreams(status: number | undefined): void
  listeners(): number
  close(): Promise<void>
}

export interface SentEvent {
  readonly event_id: string
  readonly type: string
  readonly data: unknown
}

export async function startEventServer(): Promise<EventServer> {
  const [asked, answers]: [Asked[], Map<string, Given>] = [[], new Map()]
  const events: SentEvent[] = []
  const streams = new Set<ServerResponse>()
  let refusal: number | undefined
  const answer = (response: ServerResponse, { status = 200, body }: Given) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status === 204 ? undefined : JSON.stringify(body))
  }
  const stream = (response: ServerResponse, lastEventId: string | undefined) => {
    if (refusal !== undefined) return answer(response, { status: refusal, body: error('overloaded', 'Not now.') })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 1000\n\n')
    streams.add(response)
    response.on('close', () => streams.delete(response))
    const from = events.findIndex(({ event_id }) => event_id === lastEventId) + 1
    // as the real one, which finds what was born shortly before once more
    for (const event of events.slice(Math.max(0, from - 3))) response.write(frame(event))
  }
  const server = createServer(async (request, response) => {
    const { path, ...one } = await seen(request)
    asked.push(one)
    if (path === 'GET /v1/events/stream') return stream(response, one.lastEventId)
    const newest = events.toReversed().map(({ event_id: id, ...event }) => ({ id, object: 'event', ...event }))
    if (path === 'GET /v1/events') return answer(response, { body: page(newest) })
    answer(response, answers.get(path) ?? { status: 404, body: error('not_found', 'There is nothing here.') })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const write = (text: string) => {
    for (const response of streams) response.write(text)
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers,
    record(event) {
      events.push(event)
      write(frame(event))
    },
    write,
    cut() {
      for (const response of streams) response.destroy()
    },
    refuseStreams: (status) => {
      refusal = status
    },
    listeners: () => streams.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function seen(request: IncomingMessage): Promise<Asked & { readonly path: string }> {
  const { method = '', url = '', headers } = request
  const body = headers['content-type'] === 'application/json' ? await json(request) : undefined
  const lastEventId = headers['last-event-id']
  return {
    what: `${method} ${url}`,
    path: `${method} ${url.replace(/\?.*$/, '')}`,
    lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    authorization: headers.authorization,
    body,
  }
}

/** What the server signs and a receiver gets. */
export function bodyOfEvent({ event_id, type, data }: SentEvent): string {
  return JSON.stringify({ event_id, type, created_at: '2026-11-20T16:30:00.000Z', data })
}

function frame(event: SentEvent): string {
  return `id: ${event.event_id}\nevent: ${event.type}\ndata: ${bodyOfEvent(event)}\n\n`
}

export function page(data: readonly object[], next: string | null = null): object {
  return { data, has_more: next !== null, next_cursor: next }
}

export function error(code: string, message: string): object {
  return { error: { type: code, code, message } }
}
