/** `/app/`: the dashboard. Where it is not built, a plain page that says so. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'
import { originOfRequest } from '../browser-request.ts'
import { type Dashboard, dashboardHeaders, sendDashboardFile } from '../dashboard.ts'
import { formField, sendPage } from './exchange.ts'
import type { PagesDeps } from './routes.ts'
import { renderHome, renderWelcome } from './sign-in-pages.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export function homeRoutes(app: FastifyInstance, deps: PagesDeps): void {
  const home = deps.dashboard === undefined ? plainHome(deps) : dashboardHome(deps, deps.dashboard)
  app.get('/', (_request, reply) => reply.redirect('/app/', 302))
  app.get('/app', home)
  app.get('/app/*', home)
  app.post('/app/account', chooseAccount(deps))
}

/** What the page loads, of anybody: it is the same for all and in the package. */
export function dashboardAssetRoutes(app: FastifyInstance, { dashboard }: Pick<PagesDeps, 'dashboard'>): void {
  app.get('/app/assets/*', { schema: { hide: true } }, (request, reply) => {
    const file = dashboard?.files.get(`assets/${restOfPath(request)}`)
    if (file === undefined) throw new GatewayError('not_found', 'There is no such file.')
    return sendDashboardFile(request, reply, file)
  })
}

/** Every address within it is the same page, which finds out what to show. Browsers that nobody is signed in with sign in. */
function dashboardHome({ publicUrl, sessions, localPath }: PagesDeps, { page, files }: Dashboard): Handler {
  const headers = dashboardHeaders(publicUrl)
  return async (request, reply) => {
    const file = files.get(restOfPath(request))
    if (file !== undefined && file !== page) return sendDashboardFile(request, reply, file)
    if (wantsPage(request) && (await sessions.find(request.headers.cookie)) === undefined) {
      return reply.redirect(signInAddress(localPath(request.url)), 302)
    }
    return sendDashboardFile(request, reply.headers(headers), page)
  }
}

function plainHome({ publicUrl, sessions, people }: PagesDeps): Handler {
  const welcome = renderWelcome(publicUrl)
  return async (request, reply) => {
    const session = await sessions.find(request.headers.cookie)
    if (session === undefined) return sendPage(reply, welcome)
    return sendPage(reply, renderHome({ session, accounts: await people.accountsOf(session.userId), publicUrl }))
  }
}

function chooseAccount(deps: PagesDeps): Handler {
  const { sessions, people } = deps
  return async (request, reply) => {
    const next = deps.localPath(formField(request, 'next'))
    const session = await sessions.find(request.headers.cookie)
    if (session === undefined) return reply.redirect(signInAddress(next), 303)
    const accountId = formField(request, 'account_id')
    const chosen = (await people.accountsOf(session.userId)).find(({ id }) => id === accountId)
    const isThere =
      chosen?.id === session.accountId ||
      (chosen !== undefined && (await sessions.move(session, chosen.id, originOfRequest(request))))
    if (!isThere) throw new GatewayError('not_found', 'You belong to no account with this id.')
    return reply.redirect(next, 303)
  }
}

function signInAddress(next: string): string {
  return `/sign-in?${new URLSearchParams({ next })}`
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}

/** What `*` stands for in the route, decoded; '' where the route has none. */
function restOfPath({ params }: FastifyRequest): string {
  return String((params as Readonly<Record<string, unknown>>)['*'] ?? '') // what the router makes
}
