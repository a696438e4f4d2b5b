/**
 * Sign-in with identity providers: `/auth/{slug}` redirects the browser to the provider, `/auth/{slug}/callback` receives
 * it. `PeoplePort` maps the verified identity to a person, `SessionsPort` starts the session. The provider's tokens are
 * discarded with the request.
 */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Outcome } from '../../http/pages/layout.ts'
import { appHeaders } from '../../http/pages/page-headers.ts'
import type { Log } from '../../telemetry/log.ts'
import { type OutcomeKind, outcomeOf } from './failure.ts'
import { localPath } from './local-path.ts'
import { begin, createVisits, end, type Failure, failureOf, type Visit, type VisitsInput } from './visits.ts'

export interface SignInDeps extends VisitsInput {
  readonly log: Pick<Log, 'warn' | 'debug'>
  /** Renders the page of an outcome. */
  readonly page: (outcome: Outcome) => string
}

const RETRY_AFTER_S = '60'
const UNAVAILABLE = 503
/** Failures that are logged as warnings. */
const OPERATOR_FAILURES: ReadonlySet<OutcomeKind> = new Set(['unavailable', 'busy', 'untrusted', 'misregistered'])
/** A `HEAD` would use up the round trip and the provider's code. */
const options = { schema: { hide: true }, exposeHeadRoute: false } as const

/** `GET /auth/{slug}` and `GET /auth/{slug}/callback`. */
export function signInRoutes(deps: SignInDeps): FastifyPluginAsync {
  const visits = createVisits(deps)
  const headers = appHeaders(deps.publicUrl)

  function sendFailure({ request, reply }: Pick<Visit, 'request' | 'reply'>, failure: ProviderFailure): FastifyReply {
    const { kind, detail, reason, provider = '', next = localPath(undefined) } = failure
    const { status, outcome } = outcomeOf(kind, { provider, detail }, next)
    const fields = { requestId: request.id, provider, kind, reason }
    if (OPERATOR_FAILURES.has(kind)) deps.log.warn(fields, 'sign-in failed')
    else deps.log.debug(fields, 'sign-in refused')
    if (status === UNAVAILABLE) reply.header('retry-after', RETRY_AFTER_S)
    return reply.code(status).type('text/html; charset=utf-8').send(deps.page(outcome))
  }

  function handler(work: (visit: Visit) => Promise<string | Failure>) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      reply.headers(headers)
      const route = visits.routes.get(slugOf(request))
      if (route === undefined) return sendFailure({ request, reply }, { kind: 'unknown provider' })
      const result = await work({ visits, request, reply, route }).catch(failureOf)
      if (typeof result === 'string') return reply.redirect(result, 303)
      return sendFailure({ request, reply }, { ...result, provider: route.settings.name })
    }
  }

  return async (app) => {
    app.get('/auth/:slug', options, handler(begin))
    app.get('/auth/:slug/callback', options, handler(end))
  }
}

type ProviderFailure = Failure & { readonly provider?: string }

function slugOf(request: FastifyRequest): string {
  return String((request.params as { readonly slug?: unknown }).slug) // both routes have it
}
