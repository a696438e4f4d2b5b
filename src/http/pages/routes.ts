/**
 * The pages around the dashboard, and the dashboard itself: sign-in, device activation, invitations, `/app/`, `/docs/`. Plain HTML that
 * works without script. They reach sessions, devices and people only through the ports of `context.ts`.
 */
import formBody from '@fastify/formbody'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'
import { type Dashboard, sendDashboardFile } from '../dashboard.ts'
import { errorHeaders, toGatewayError } from '../errors.ts'
import { originOfRequest, rejectCrossSite } from '../request-origin.ts'
import { activationRoutes } from './activation-routes.ts'
import { assetRoutes } from './assets.ts'
import { formField, PAGE_TYPE, type PagesDeps, sendPage } from './context.ts'
import { documentationRoutes } from './documentation-routes.ts'
import { renderOutcome } from './layout.ts'
import { appHeaders, dashboardHeaders } from './page-headers.ts'
import { renderHome, renderWelcome, signInPageRoutes } from './sign-in-routes.ts'

const MAX_FORM_BYTES = 16 * 1024

/** The routes of all pages, at the root. Responses other than assets are private. */
export function pageRoutes(deps: PagesDeps): FastifyPluginAsync {
  const headers = appHeaders(deps.publicUrl)
  return async (server) => {
    await server.register(async (app) => {
      assetRoutes(app)
      dashboardAssetRoutes(app, deps)
      documentationRoutes(app, deps.publicUrl)
    })
    await server.register(async (app) => {
      app.addHook('onRoute', (route) => {
        route.schema = { ...route.schema, hide: true }
      })
      app.addHook('onRequest', async (_request, reply) => void reply.headers(headers))
      rejectCrossSite(app, deps)
      await app.register(formBody, { bodyLimit: MAX_FORM_BYTES })
      renderErrorPages(app, deps)
      homeRoutes(app, deps)
      signInPageRoutes(app, deps)
      activationRoutes(app, deps)
    })
  }
}

const UNEXPECTED = 500

/** Renders errors as pages. */
function renderErrorPages(app: FastifyInstance, { onError }: PagesDeps): void {
  app.setErrorHandler((error, request: FastifyRequest, reply: FastifyReply) => {
    const ours = toGatewayError(error as Parameters<typeof toGatewayError>[0]) // it accepts any value
    onError(ours, request.id)
    const title = ours.status >= UNEXPECTED ? 'Internal error' : 'Request rejected'
    const text = `${ours.message} (${request.id})`
    const action = { href: '/app/', label: 'Home' }
    return reply
      .code(ours.status)
      .headers(errorHeaders(ours))
      .type(PAGE_TYPE)
      .send(renderOutcome({ title, text, action }))
  })
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** `/app/`: the dashboard, or a plain page where it is not built. */
function homeRoutes(app: FastifyInstance, deps: PagesDeps): void {
  const home = deps.dashboard === undefined ? plainHome(deps) : dashboardHome(deps, deps.dashboard)
  app.head('/', (_request, reply) => reply.code(200).send()) // how API clients find out whether the gateway is there
  app.get('/', (_request, reply) => reply.redirect('/app/', 302))
  app.get('/app', home)
  app.get('/app/*', home)
  app.post('/app/account', chooseAccount(deps))
}

/** Assets of the dashboard, without a session: they are public. */
function dashboardAssetRoutes(app: FastifyInstance, { dashboard }: Pick<PagesDeps, 'dashboard'>): void {
  app.get('/app/assets/*', { schema: { hide: true } }, (request, reply) => {
    const file = dashboard?.files.get(`assets/${restOfPath(request)}`)
    if (file === undefined) throw new GatewayError('not_found', 'File not found.')
    return sendDashboardFile(request, reply, file)
  })
}

/** Every path serves the same page, whose script routes. Browsers without a session are redirected to sign-in. */
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
    if (!isThere) throw new GatewayError('not_found', 'You are not a member of an account with this ID.')
    return reply.redirect(next, 303)
  }
}

function signInAddress(next: string): string {
  return `/sign-in?${new URLSearchParams({ next })}`
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}

/** Returns what `*` of the route matched, decoded; '' where the route has none. */
function restOfPath({ params }: FastifyRequest): string {
  return String((params as Readonly<Record<string, unknown>>)['*'] ?? '') // set by the router
}
