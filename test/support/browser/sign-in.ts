/** The routes of sign-in on a real server, with people and sessions that a test looks into, and browsers to visit them with. */
import type { TestContext } from 'node:test'
import type { AuditEvent } from '../../../src/domain/audit.ts'
import type { Arrival, VouchedIdentity } from '../../../src/domain/identity/sign-in.ts'
import type { AccountId, UserId } from '../../../src/domain/ids.ts'
import type { OutboundLimits, ProviderSettings } from '../../../src/features/sign-in/provider.ts'
import { signInRoutes } from '../../../src/features/sign-in/routes.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { temporaryDatabase } from '../database.ts'
import { testIds } from '../ids.ts'
import { freePort } from '../process/free-port.ts'

export const MEMBER: Arrival = { kind: 'member', userId: 'usr_ada' as UserId, accountId: 'acc_ada' as AccountId }
/** The cookie of a session that was begun. */
export const SESSION_COOKIE = '__Host-turnpike=session-of-tests'

export interface SignInWorld {
  readonly url: string
  /** Everybody who came to `PeoplePort`. */
  readonly arrivals: (VouchedIdentity & { readonly invitation: string | undefined })[]
  readonly sessions: { readonly userId: UserId; readonly accountId: AccountId }[]
  readonly audit: AuditEvent[]
  /** Lines of the log. */
  readonly log: unknown[]
  readonly db: Awaited<ReturnType<typeof temporaryDatabase>>['db']
  /** What `PeoplePort` says of the next ones. */
  arrival: Arrival
  /** Added to the clock. */
  skewMs: number
}

export interface SignInWorldInput {
  readonly port?: number
  readonly providers: readonly ProviderSettings[]
  readonly limits?: OutboundLimits
}

export async function startSignIn(test: TestContext, input: SignInWorldInput): Promise<SignInWorld> {
  const { db } = await temporaryDatabase(test)
  const port = input.port ?? (await freePort())
  const world: SignInWorld = {
    url: `http://127.0.0.1:${port}`,
    arrivals: [],
    sessions: [],
    audit: [],
    log: [],
    db,
    arrival: MEMBER,
    skewMs: 0,
  }
  const note = (...line: unknown[]): void => void world.log.push(line)
  const server = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: (error) => note(error.message, error.cause),
    draining: () => false,
  })
  await server.register(
    signInRoutes({
      db,
      now: () => Date.now() + world.skewMs,
      providers: input.providers,
      publicUrl: world.url,
      key: Buffer.alloc(32, 7),
      people: {
        async arrive(identity, { invitation }) {
          world.arrivals.push({ ...identity, invitation })
          return world.arrival
        },
      },
      sessions: {
        async start(who) {
          world.sessions.push(who)
          return `${SESSION_COOKIE}; Path=/; Secure; HttpOnly; SameSite=Lax`
        },
      },
      writeAudit: async (_db, event) => void world.audit.push(event),
      log: { warn: note, debug: note },
      page: ({ title, text, action }) => `${title}\n${text}\n${action?.href}`,
      // The machine of a test may be busier than any provider may be slow.
      limits: input.limits ?? { requestMs: 60_000, visitMs: 120_000 },
    }),
  )
  await server.listen({ host: '127.0.0.1', port })
  test.after(() => server.close())
  return world
}

export interface Answer {
  readonly status: number
  readonly location: string
  readonly text: string
  readonly setCookies: readonly string[]
  readonly headers: Headers
}

/** Keeps cookies by origin, and follows no redirect by itself. */
export interface TestBrowser {
  readonly cookies: Map<string, Map<string, string>>
  get(address: string | URL, headers?: Readonly<Record<string, string>>): Promise<Answer>
  post(address: string | URL, form: Readonly<Record<string, string>>): Promise<Answer>
  /** Follows redirects from an address until one leads to `stop`. @returns that address. */
  follow(address: string, stop: (url: URL) => boolean): Promise<URL>
}

export function createTestBrowser(): TestBrowser {
  const cookies = new Map<string, Map<string, string>>()
  async function send(address: string | URL, init: RequestInit): Promise<Answer> {
    const url = new URL(address)
    const jar = cookies.get(url.origin) ?? new Map<string, string>()
    cookies.set(url.origin, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie !== '' && { cookie }), ...(init.headers as Record<string, string> | undefined) }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    const setCookies = response.headers.getSetCookie()
    for (const line of setCookies) keep(jar, line)
    const location = response.headers.get('location')
    return {
      status: response.status,
      location: location === null ? '' : new URL(location, url).href,
      text: await response.text(),
      setCookies,
      headers: response.headers,
    }
  }
  return {
    cookies,
    get: (address, headers = {}) => send(address, { headers }),
    post: (address, form) => send(address, { method: 'POST', body: new URLSearchParams(form) }),
    async follow(address, stop) {
      let url = new URL(address)
      for (let hops = 0; hops < 10; hops++) {
        if (stop(url)) return url
        const { location, status, text } = await send(url, {})
        if (location === '') throw new Error(`${url.href} answered ${status}: ${text}`)
        url = new URL(location)
      }
      throw new Error('too many redirects')
    },
  }
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
  const at = pair.indexOf('=')
  const isGone = attributes.some((attribute) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute))
  if (isGone) jar.delete(pair.slice(0, at))
  else jar.set(pair.slice(0, at), pair.slice(at + 1))
}

/** From `/auth/{slug}` through the provider's page back to the callback's address, which is not visited yet. */
export async function comeBack(
  browser: TestBrowser,
  { url, path, login }: { readonly url: string; readonly path: string; readonly login: string },
): Promise<URL> {
  const isCallback = (at: URL) => at.href.startsWith(url) && at.pathname.endsWith('/callback')
  const page = await browser.follow(`${url}${path}`, (at) => at.pathname.startsWith('/interaction/') || isCallback(at))
  if (isCallback(page)) return page
  const { location } = await browser.post(page, login === '' ? { do: 'cancel' } : { login })
  return browser.follow(location, isCallback)
}
