/** `/sign-in`, `/app/sign-in` and `/invitation`. */
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
const NOT_ANY_MORE = 410

export function signInPageRoutes(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/sign-in', async (request, reply) => {
    const asked = queryField(request, 'next')
    const next = asked === undefined ? undefined : deps.localPath(asked)
    const session = await deps.sessions.find(request.headers.cookie)
    const isInsecure = isInsecureRequest(request)
    const { choices } = deps
    if (session === undefined) {
      // Who has only the link to sign in with comes back by it, and it does not know where to.
      if (next !== undefined && choices.length === 0) reply.header('set-cookie', nextCookie(next))
      return sendPage(reply, renderSignIn({ choices, next, isInsecure }))
    }
    if (next === undefined) return sendPage(reply, renderSignedIn(session))
    if (isFresh(session, deps.now())) return reply.redirect(next, 303)
    return sendPage(reply, renderSignIn({ choices, next, again: session, isInsecure }))
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
    // The token goes on in an address of ours; our log writes none, and browsers pass it to nobody (`no-referrer`).
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

/** Who accepts goes on in the account that invited. */
async function accept(deps: PagesDeps, { request, reply, session, invitation }: Acceptance): Promise<FastifyReply> {
  const origin = originOfRequest(request)
  const answer = await deps.people.accept(invitation, { userId: session.userId, origin })
  if (answer.kind === 'refused') return sendPage(reply, renderOutcome(INVITATION_OVER), NOT_ANY_MORE)
  const { accountId, accountName, role } = answer
  if (accountId !== session.accountId) await deps.sessions.move(session, accountId, origin)
  const title = answer.kind === 'joined' ? `Welcome to ${accountName}` : `You belong to ${accountName} already`
  const action = { href: '/app/', label: 'Continue' }
  return sendPage(reply, renderOutcome({ sign: 'good', title, text: `Your role in this account is ${role}.`, action }))
}

const INVITATION_OVER = {
  title: 'This invitation does not work any more',
  text: 'It is wrong, older than 7 days, was taken back, or was used. Ask whoever invited you for another.',
  action: { href: '/app/', label: 'To the start' },
}

/**
 * Browsers take cookies of ours, which are `Secure`, over TLS and from this machine alone; and only there do they send
 * `Sec-Fetch-Site`, which tells also where TLS ends before this process.
 */
function isInsecureRequest({ protocol, host, headers }: FastifyRequest): boolean {
  if (protocol === 'https' || headers['sec-fetch-site'] !== undefined) return false
  const address = `http://${host}`
  return !(URL.canParse(address) && isLoopbackUrl(new URL(address)))
}

/*
 * Where somebody wanted to go who signs in by a one-time link. The link comes from a terminal and knows nothing of the page that
 * the browser was sent to `/sign-in` from, so the browser keeps it, for as long as a link is good. Whoever reads it is to make
 * a path of ours of it: a neighbor on the same host could have put it there.
 */

const COOKIE = '__Host-turnpike-next'
const LIFE_MS = 15 * 60_000

/** The value of `Set-Cookie`. @param next A path of ours. */
export function nextCookie(next: string): string {
  return renderCookie(COOKIE, encodeURIComponent(next), LIFE_MS)
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_NEXT = renderCookie(COOKIE, '', 0)

/** Undefined when there is none, or it is there twice or unreadable. @param cookies The `Cookie` header. */
export function readNextCookie(cookies: string | undefined): string | undefined {
  const value = readCookie(cookies, COOKIE)
  if (value === undefined) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined // it was never ours
  }
}
