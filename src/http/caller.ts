import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller, Right } from '../domain/caller.ts'
import { GatewayError } from '../domain/errors.ts'

/** Who a credential belongs to. Throws or rejects with `GatewayError`. */
export type Authenticate = (authorization: string | undefined, address: string) => Caller | Promise<Caller>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The right a caller needs for this route. */
    scope?: Right
    /** Largest request body in bytes, where it is not the usual one. */
    bodyLimitBytes?: number
  }
  interface FastifyRequest {
    /** Use `callerOf`. */
    caller: Caller | undefined
  }
}

/** The caller of a request that passed `requireCaller`. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request
  if (caller === undefined) throw new Error('a route without authentication asked for its caller')
  return caller
}

/** Every route of `app` then needs a valid credential, with the scope that its `config.scope` names. */
export function requireCaller(app: FastifyInstance, authenticate: Authenticate): void {
  app.decorateRequest('caller', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    let caller: Caller | Promise<Caller>
    try {
      caller = authenticate(request.headers.authorization, request.ip)
      if (!(caller instanceof Promise)) accept(request, reply, caller)
    } catch (error) {
      return done(error as Error)
    }
    if (!(caller instanceof Promise)) return done()
    caller.then((found) => accept(request, reply, found)).then(() => done(), done)
  })
}

function accept(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
  const { scope } = request.routeOptions.config
  if (scope !== undefined && !caller.scopes.has(scope)) {
    throw new GatewayError('insufficient_scope', `${LACKING[caller.kind]} '${scope}'.`)
  }
  if (caller.kind === 'session') reply.header('cache-control', 'no-store') // a browser would keep it
  request.caller = caller
}

const LACKING = {
  key: 'This key does not have the scope',
  token: 'This token does not have the scope',
  session: 'Your role in this account does not have the right',
}
