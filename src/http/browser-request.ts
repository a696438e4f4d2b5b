/**
 * Requests of browsers that carry a cookie. A page of another site can make a browser send such a request, so what changes
 * something is only taken from our own pages. Cookies count on the dashboard's routes alone, never on `/v1`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { Origin } from '../domain/sign-in.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Every route of `app` then refuses what changes something and does not come from a page of our own (WEB-2). */
export function takeOnlyFromOwnPages(app: FastifyInstance, { publicUrl }: { readonly publicUrl: string }): void {
  app.addHook('onRequest', (request, _reply, done) => {
    done(isFromOwnPage(request, publicUrl) ? undefined : crossSite())
  })
}

/**
 * By `Sec-Fetch-Site` where there is one, else by `Origin`. Without both it is no browser of today: refused when there are
 * cookies, which a page could have made it send, and let through when there are none, since then nothing is to be had.
 */
export function isFromOwnPage(request: FastifyRequest, publicUrl: string): boolean {
  if (SAFE_METHODS.has(request.method)) return true
  const { 'sec-fetch-site': site, origin, cookie } = request.headers
  if (typeof site === 'string') return site === 'same-origin'
  if (origin === undefined) return cookie === undefined
  return origin === originOf(publicUrl) || origin === originOf(`${request.protocol}://${request.host}`)
}

/** Where a request comes from, for lists that people look at. */
export function originOfRequest(request: FastifyRequest): Origin {
  return { address: request.ip, userAgent: request.headers['user-agent'], requestId: request.id }
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

function crossSite(): GatewayError {
  return new GatewayError('cross_site_request', 'This is only taken from a page of this server itself.')
}
