/** `/app/`, until the dashboard is there. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'
import { originOfRequest } from '../browser-request.ts'
import { formField, sendPage } from './exchange.ts'
import type { PagesDeps } from './routes.ts'
import { renderHome, renderWelcome } from './sign-in-pages.ts'

export function homeRoutes(app: FastifyInstance, deps: PagesDeps): void {
  const { publicUrl, sessions, people } = deps
  const welcome = renderWelcome(publicUrl)
  const home = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const session = await sessions.find(request.headers.cookie)
    if (session === undefined) return sendPage(reply, welcome)
    return sendPage(reply, renderHome({ session, accounts: await people.accountsOf(session.userId), publicUrl }))
  }
  app.get('/', (_request, reply) => reply.redirect('/app/', 302))
  app.get('/app', home)
  app.get('/app/*', home)
  app.post('/app/account', async (request, reply) => {
    const next = deps.localPath(formField(request, 'next'))
    const session = await sessions.find(request.headers.cookie)
    if (session === undefined) return reply.redirect(`/sign-in?${new URLSearchParams({ next })}`, 303)
    const accountId = formField(request, 'account_id')
    const chosen = (await people.accountsOf(session.userId)).find(({ id }) => id === accountId)
    const isThere =
      chosen?.id === session.accountId ||
      (chosen !== undefined && (await sessions.move(session, chosen.id, originOfRequest(request))))
    if (!isThere) throw new GatewayError('not_found', 'You belong to no account with this id.')
    return reply.redirect(next, 303)
  })
}
