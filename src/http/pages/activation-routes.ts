/** `/activate`: the code, the request, the decision. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ActivationBlock, BrowserSession } from '../../domain/identity/sign-in.ts'
import { originOfRequest } from '../request-origin.ts'
import { OUTCOMES, renderBlocked, renderCodeForm, renderQuestion } from './activation-pages.ts'
import { formField, isFresh, type PagesDeps, queryField, sendPage } from './context.ts'
import { renderOutcome } from './layout.ts'

const LONGEST_CODE = 24
const WRONG_CODE = 400
const GONE = 410
const BLOCKED = 429

export function activationRoutes(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/activate', async (request, reply) => {
    const typed = codeOf(queryField(request, 'user_code') ?? '')
    const session = await freshSession(deps, request)
    if (session === undefined) return toSignIn(reply, typed)
    return sendPage(reply, renderCodeForm({ session, typed }))
  })
  app.post('/activate', async (request, reply) => {
    const typed = codeOf(formField(request, 'user_code'))
    const session = await freshSession(deps, request)
    if (session === undefined) return toSignIn(reply, typed)
    return lookUp(deps, { request, reply, session, typed })
  })
  app.post('/activate/decision', async (request, reply) => {
    const typed = codeOf(formField(request, 'user_code'))
    const session = await freshSession(deps, request)
    if (session === undefined) return toSignIn(reply, typed)
    const decision = formField(request, 'decision')
    if (decision !== 'approve' && decision !== 'deny') return lookUp(deps, { request, reply, session, typed })
    const approve = decision === 'approve'
    const done = await deps.activation.decide(typed, { approve, session, origin: originOfRequest(request) })
    if (typeof done === 'object') return sendBlocked(reply, done)
    if (!done) return sendPage(reply, renderOutcome(OUTCOMES.over), GONE)
    return reply.redirect(approve ? '/activate/approved' : '/activate/denied', 303)
  })
  // Redirects, not responses to the form: mobile browsers reload pages that they discarded.
  app.get('/activate/approved', (_request, reply) => sendPage(reply, renderOutcome(OUTCOMES.approved)))
  app.get('/activate/denied', (_request, reply) => sendPage(reply, renderOutcome(OUTCOMES.denied)))
}

interface Visit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: BrowserSession
  readonly typed: string
}

async function lookUp(deps: PagesDeps, { request, reply, session, typed }: Visit): Promise<FastifyReply> {
  const origin = originOfRequest(request)
  const found = await deps.activation.find(typed, { session, origin })
  if (found.kind === 'unknown') return sendPage(reply, renderCodeForm({ session, typed, isWrong: true }), WRONG_CODE)
  if (found.kind === 'blocked') return sendBlocked(reply, found)
  const accounts = await deps.people.accountsOf(session.userId)
  const question = { request: found.request, session, address: origin.address, accounts, now: deps.now() }
  return sendPage(reply, renderQuestion(question))
}

function sendBlocked(reply: FastifyReply, { retryAfterMs }: ActivationBlock): FastifyReply {
  reply.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return sendPage(reply, renderBlocked(retryAfterMs), BLOCKED)
}

async function freshSession(deps: PagesDeps, request: FastifyRequest): Promise<BrowserSession | undefined> {
  const session = await deps.sessions.find(request.headers.cookie)
  return session !== undefined && isFresh(session, deps.now()) ? session : undefined
}

function toSignIn(reply: FastifyReply, typed: string): FastifyReply {
  const next = typed === '' ? '/activate' : `/activate?${new URLSearchParams({ user_code: typed })}`
  return reply.redirect(`/sign-in?${new URLSearchParams({ next })}`, 303)
}

/** Returns the code as typed. A longer text is discarded: it may be a secret, which no page or URL must repeat. */
function codeOf(text: string): string {
  const typed = text.trim()
  return typed.length > LONGEST_CODE ? '' : typed
}
