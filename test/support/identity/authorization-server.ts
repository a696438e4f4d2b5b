/** The server's side of the device flow, for clients: it answers what a test says, and notes what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Told {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or the text as it is. `cut`: the connection is cut instead. */
  readonly body: object | string
}

export interface Asked {
  readonly path: string
  readonly authorization: string | undefined
  readonly userAgent: string | undefined
  readonly form: Readonly<Record<string, string>>
}

export interface FakeAuthorizationServer {
  readonly url: string
  readonly asked: Asked[]
  /** By path, one after the other; the last one stays. */
  readonly answers: Map<string, Told[]>
  readonly close: () => Promise<void>
}

export const refused = (error: string, status = 400): Told => ({ status, body: { error, error_description: 'No.' } })
export const granted = (number: number, over: object = {}): Told => ({
  body: {
    access_token: `tpa_secret-access-${number}`,
    refresh_token: `tpr_secret-refresh-${number}`,
    token_type: 'Bearer',
    expires_in: 3_600,
    ...over,
  },
})

export async function startAuthorizationServer(): Promise<FakeAuthorizationServer> {
  const asked: Asked[] = []
  const answers = new Map<string, Told[]>()
  const server = createServer((request, response) => void answer({ request, response, asked, answers }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  answers.set('/device/code', [{ body: deviceCode(url) }])
  answers.set('/oauth/token', [refused('authorization_pending')])
  answers.set('/oauth/revoke', [{ body: {} }])
  return {
    url,
    asked,
    answers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function deviceCode(url: string, over: object = {}): object {
  return {
    device_code: 'tpd_secret-device-code',
    user_code: 'BCDF-GHJK',
    verification_uri: `${url}/activate`,
    verification_uri_complete: `${url}/activate?user_code=BCDF-GHJK`,
    expires_in: 900,
    interval: 0.1,
    ...over,
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly asked: Asked[]
  readonly answers: ReadonlyMap<string, Told[]>
}

async function answer({ request, response, asked, answers }: Exchange): Promise<void> {
  const path = request.url?.split('?')[0] ?? ''
  const form = Object.fromEntries(new URLSearchParams(await text(request)))
  const { authorization, 'user-agent': userAgent } = request.headers
  asked.push({ path, authorization, userAgent, form })
  const queue = answers.get(path) ?? []
  const told: Told = (queue.length > 1 ? queue.shift() : queue[0]) ?? {
    status: 404,
    body: { error: { message: 'None.' } },
  }
  if (told.body === 'cut') return void request.socket.destroy()
  const isText = typeof told.body === 'string'
  response.writeHead(told.status ?? 200, { 'content-type': isText ? 'text/html' : 'application/json', ...told.headers })
  response.end(isText ? told.body : JSON.stringify(told.body))
}
