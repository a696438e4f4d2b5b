/**
 * The pages that people meet on the way to the dashboard: sign-in, activation of devices, invitations. Plain HTML that works
 * without script. They know sessions, devices and people by their ports alone, and none of what stands behind them.
 */
import formBody from '@fastify/formbody'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from '../../domain/errors.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import type { ActivationPort, BrowserSession, Origin, SessionsPort, SignInChoice } from '../../domain/sign-in.ts'
import { takeOnlyFromOwnPages } from '../browser-request.ts'
import type { Dashboard } from '../dashboard.ts'
import { errorHeaders, toGatewayError } from '../errors.ts'
import { appHeaders } from '../page-headers.ts'
import type { Membership } from './account-choice.ts'
import { activationRoutes } from './activation-routes.ts'
import { assetRoutes } from './assets.ts'
import { PAGE_TYPE } from './exchange.ts'
import { dashboardAssetRoutes, homeRoutes } from './home-routes.ts'
import { renderOutcome } from './outcome.ts'
import { signInPageRoutes } from './sign-in-routes.ts'

export interface PageSessions extends Pick<SessionsPort, 'find'> {
  /** Makes a session act in another account of its person. @returns false when it is gone, or the person no member. */
  move(session: BrowserSession, accountId: AccountId, origin: Origin): Promise<boolean>
}

export interface PagePeople {
  /** Accounts that somebody belongs to. */
  accountsOf(userId: UserId): Promise<readonly Membership[]>
  /** Accepts an invitation for somebody who is signed in. */
  accept(token: string, who: { readonly userId: UserId; readonly origin: Origin }): Promise<InvitationAnswer>
}

export type InvitationAnswer =
  | {
      readonly kind: 'joined' | 'member already'
      readonly accountId: AccountId
      readonly accountName: string
      readonly role: Role
    }
  /** Wrong, old, taken back or used. */
  | { readonly kind: 'refused' }

export interface PagesDeps {
  /** Without trailing slash. */
  readonly publicUrl: string
  /** Unix milliseconds. */
  readonly now: () => number
  readonly sessions: PageSessions
  readonly people: PagePeople
  readonly activation: ActivationPort
  /** The ways to sign in, in order. */
  readonly choices: readonly SignInChoice[]
  /** Makes a path of ours of whatever was asked for. */
  readonly localPath: (asked: unknown) => string
  /** Undefined: it is not built. */
  readonly dashboard: Dashboard | undefined
  /** For the log. */
  readonly onError: (error: GatewayError, requestId: string) => void
}

const MAX_FORM_BYTES = 16 * 1024

/** At the root. Every answer but the assets is private to who asks for it. */
export function pageRoutes(deps: PagesDeps): FastifyPluginAsync {
  const headers = appHeaders(deps.publicUrl)
  return async (server) => {
    await server.register(async (app) => {
      assetRoutes(app)
      dashboardAssetRoutes(app, deps)
    })
    await server.register(async (app) => {
      app.addHook('onRoute', (route) => {
        route.schema = { ...route.schema, hide: true }
      })
      app.addHook('onRequest', async (_request, reply) => void reply.headers(headers))
      takeOnlyFromOwnPages(app, deps)
      await app.register(formBody, { bodyLimit: MAX_FORM_BYTES })
      tellErrors(app, deps)
      homeRoutes(app, deps)
      signInPageRoutes(app, deps)
      activationRoutes(app, deps)
    })
  }
}

const UNEXPECTED = 500

/** People get a page of what went wrong. */
function tellErrors(app: FastifyInstance, { onError }: PagesDeps): void {
  app.setErrorHandler((error, request: FastifyRequest, reply: FastifyReply) => {
    const ours = toGatewayError(error as Parameters<typeof toGatewayError>[0]) // whatever it is, it is looked at there
    onError(ours, request.id)
    const title = ours.status >= UNEXPECTED ? 'Something went wrong' : 'This is not possible'
    const text = `${ours.message} (${request.id})`
    const action = { href: '/app/', label: 'To the start' }
    return reply
      .code(ours.status)
      .headers(errorHeaders(ours))
      .type(PAGE_TYPE)
      .send(renderOutcome({ title, text, action }))
  })
}
