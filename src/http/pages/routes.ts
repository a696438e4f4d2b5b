/**
 * The pages around the dashboard, and the dashboard itself: sign-in, device activation, invitations, `/app/`, `/docs/`. Plain HTML that
 * works without script. They reach sessions, devices and people only through the ports of `context.ts`.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import formBody from '@fastify/formbody'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'
import { DASHBOARD_FOLDER, type Dashboard, fileOf, sendDashboardFile } from '../dashboard.ts'
import { errorHeaders, toGatewayError } from '../errors.ts'
import { originOfRequest, rejectCrossSite } from '../request-origin.ts'
import { activationRoutes } from './activation-routes.ts'
import { assetRoutes } from './assets.ts'
import {
  appHeaders,
  dashboardHeaders,
  documentationHeaders,
  formField,
  PAGE_TYPE,
  type PagesDeps,
  referenceHeaders,
  sendPage,
} from './context.ts'
import { renderOutcome } from './layout.ts'
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

/*
 * The documentation site under `/docs/`, and `/llms.txt`: the files that `npm run build:docs` wrote, compressed with gzip alone, so
 * that the package stays small. They are public, and read when they are requested: a dashboard is open all day, a page of the
 * documentation is not.
 */

export const DOCUMENTATION_FOLDER = join(DASHBOARD_FOLDER, '..', '..', 'site', 'dist')

const MISSING_PAGE = '404.html'
/** Of the API reference, whose component needs headers of its own. */
const REFERENCE = 'api/'
/** Pages that were split or renamed, so that old links lead on. */
const MOVED: Readonly<Record<string, string>> = { 'clients/editors': 'clients/' }
const decompress = promisify(gunzip)

/** @param publicUrl With https, HSTS is sent. */
function documentationRoutes(app: FastifyInstance, publicUrl: string): void {
  const pageHeaders = documentationHeaders(publicUrl)
  const apiHeaders = referenceHeaders(publicUrl)
  const send = async (request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const moved = MOVED[path.replace(/\.(html|md)$/, '')]
    if (moved !== undefined) return reply.redirect(`/docs/${moved}`, 302)
    const found = await findFile(path)
    if (found === undefined && (await readCompressed(`${path}/index.html`)))
      return reply.redirect(`/docs/${path}/`, 302)
    const shown = found ?? (await missingPage(request))
    if (found === undefined) reply.code(404)
    const forms = new Map([[`${shown.name}.gz`, shown.bytes]])
    const file = fileOf(shown.name, await decompress(shown.bytes), forms)
    return sendDashboardFile(request, reply.headers(path.startsWith(REFERENCE) ? apiHeaders : pageHeaders), file)
  }
  app.get('/docs', { schema: { hide: true } }, (request, reply) =>
    endsInSlash(request) ? send(request, reply, '') : reply.redirect('/docs/', 302),
  )
  app.get<{ Params: { '*': string } }>('/docs/*', { schema: { hide: true } }, (request, reply) =>
    send(request, reply, request.params['*'] + (endsInSlash(request) ? '/' : '')),
  )
  app.get('/llms.txt', { schema: { hide: true } }, (request, reply) => send(request, reply, 'llms.txt'))
}

/** The router ignores it, but links of a page are relative to it. */
function endsInSlash({ url }: FastifyRequest): boolean {
  return url.split('?', 1)[0]?.endsWith('/') === true
}

interface CompressedFile {
  /** Without `.gz`. */
  readonly name: string
  readonly bytes: Buffer
}

/** The file of a path: `errors` is `errors.html`, and `clients/` is `clients/index.html`. */
async function findFile(path: string): Promise<CompressedFile | undefined> {
  if (path === '' || path.endsWith('/')) return readCompressed(`${path}index.html`)
  return (await readCompressed(path)) ?? readCompressed(`${path}.html`)
}

async function missingPage({ headers }: FastifyRequest): Promise<CompressedFile> {
  const page = headers.accept?.includes('text/html') ? await readCompressed(MISSING_PAGE) : undefined
  if (page !== undefined) return page
  throw new GatewayError('not_found', "No such page of the documentation, or 'npm run build:docs' has not run.")
}

/** No segment begins with a dot, so that no path leads outside of the folder. Undefined where there is no such file. */
async function readCompressed(name: string): Promise<CompressedFile | undefined> {
  if (!name.split('/').every((segment) => /^[\w@-][\w@.-]*$/.test(segment))) return undefined
  const bytes = await readFile(join(DOCUMENTATION_FOLDER, `${name}.gz`)).catch(noneWithoutFile)
  return bytes && { name, bytes }
}

function noneWithoutFile(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'].includes(error.code ?? '')) throw error
}
