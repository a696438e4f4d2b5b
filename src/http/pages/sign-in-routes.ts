/** Serves `/sign-in`, `/app/sign-in` and `/invitation`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserSession } from '../../domain/identity/sign-in.ts'
import { isLoopbackUrl } from '../../lib/ip-address.ts'
import { readCookie, renderCookie } from '../cookies.ts'
import { originOfRequest } from '../request-origin.ts'
import { formField, isFresh, type PagesDeps, queryField, sendPage } from './context.ts'
import { renderOutcome } from './layout.ts'
import {
  renderInvitation,
  renderInvitationChoices,
  renderInvitationQuestion,
  renderLinkPage,
  renderSignedIn,
  renderSignIn,
} from './sign-in-pages.ts'

const LONGEST_TOKEN = 200
const GONE = 410

export function signInPageRoutes(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/sign-in', async (request, reply) => {
    const asked = queryField(request, 'next')
    const next = asked === undefined ? undefined : deps.localPath(asked)
    const session = await deps.sessions.find(request.headers.cookie)
    const isInsecure = isInsecureRequest(request)
    const { choices, commandLine } = deps
    if (session === undefined) {
      // One-time links do not carry `next`.
      if (next !== undefined && choices.length === 0) reply.header('set-cookie', nextCookie(next))
      return sendPage(reply, renderSignIn({ choices, commandLine, next, isInsecure }))
    }
    if (next === undefined) return sendPage(reply, renderSignedIn(session))
    if (isFresh(session, deps.now())) return reply.redirect(next, 303)
    return sendPage(reply, renderSignIn({ choices, commandLine, next, again: session, isInsecure }))
  })
  app.get('/app/sign-in', async (request, reply) => {
    const session = await deps.sessions.find(request.headers.cookie)
    return sendPage(reply, renderLinkPage(session, isInsecureRequest(request)))
  })
  app.get('/invitation', async (request, reply) => {
    return sendPage(reply, renderInvitation(await deps.sessions.find(request.headers.cookie)))
  })
  app.post('/invitation', async (request, reply) => {
    const invitation = formField(request, 'token').trim().slice(0, LONGEST_TOKEN)
    const session = await deps.sessions.find(request.headers.cookie)
    // The token continues in a URL of this server, which is not logged; `no-referrer` keeps browsers from passing it on.
    if (session === undefined) return sendPage(reply, renderInvitationChoices({ choices: deps.choices, invitation }))
    if (formField(request, 'accept') !== 'yes') return sendPage(reply, renderInvitationQuestion(session, invitation))
    return accept(deps, { request, reply, session, invitation })
  })
}

interface Acceptance {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: BrowserSession
  readonly invitation: string
}

/** Accepts an invitation and switches the session to its account. */
async function accept(deps: PagesDeps, { request, reply, session, invitation }: Acceptance): Promise<FastifyReply> {
  const origin = originOfRequest(request)
  const answer = await deps.people.accept(invitation, { userId: session.userId, origin })
  if (answer.kind === 'refused') return sendPage(reply, renderOutcome(INVITATION_OVER), GONE)
  const { accountId, accountName, role } = answer
  if (accountId !== session.accountId) await deps.sessions.move(session, accountId, origin)
  const title = answer.kind === 'joined' ? `Welcome to ${accountName}` : `You are already a member of ${accountName}`
  const action = { href: '/app/', label: 'Continue' }
  return sendPage(reply, renderOutcome({ sign: 'good', title, text: `Your role in this account is ${role}.`, action }))
}

const INVITATION_OVER = {
  title: 'This invitation is no longer valid',
  text: 'It is incorrect, older than 7 days, revoked, or already used. Ask the sender for another one.',
  action: { href: '/app/', label: 'Home' },
}

/**
 * Whether browsers reject `Secure` cookies from this address. They accept them over TLS and from the local machine, and
 * send `Sec-Fetch-Site` only there, also where a proxy terminates TLS.
 */
function isInsecureRequest({ protocol, host, headers }: FastifyRequest): boolean {
  if (protocol === 'https' || headers['sec-fetch-site'] !== undefined) return false
  const address = `http://${host}`
  return !(URL.canParse(address) && isLoopbackUrl(new URL(address)))
}

/*
 * The page to return to after a sign-in by one-time link. The link comes from a terminal and does not know the page, so a
 * cookie stores it for the lifetime of a link. Readers must reduce it to a local path: another application on the host may
 * have set it.
 */

const COOKIE = '__Host-turnpike-next'
const LIFE_MS = 15 * 60_000

/** The value of `Set-Cookie`. @param next A local path. */
export function nextCookie(next: string): string {
  return renderCookie(COOKIE, encodeURIComponent(next), LIFE_MS)
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_NEXT = renderCookie(COOKIE, '', 0)

/** Returns undefined if the cookie is missing, duplicated or unreadable. @param cookies The `Cookie` header. */
export function readNextCookie(cookies: string | undefined): string | undefined {
  const value = readCookie(cookies, COOKIE)
  if (value === undefined) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined // another application set it
  }
}
