/**
 * A fault of the gateway itself, provoked on every route of the composed application: what clients are told of it.
 * Runs on one database: no handler runs.
 */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { OWN_PAGE, openApp } from '../support/browser/signed-in.ts'
import { collectRoutes } from '../support/http/routes.ts'
import { smallestBody } from '../support/http/smallest-body.ts'

/** Every request of the application throws before its handler runs. */
async function openBroken(t: TestContext) {
  const listen = (message: unknown) => {
    const { fastify } = message as { readonly fastify: FastifyInstance } // what Fastify publishes when it is called
    fastify.addHook('preHandler', () => Promise.reject(new TypeError('a bug with tp_secret0123456789abcdef inside')))
  }
  subscribe('fastify.initialization', listen)
  try {
    return await collectRoutes(() => openApp(t, { role: 'api' }))
  } finally {
    unsubscribe('fastify.initialization', listen)
  }
}

/** Answers of the protocols of OAuth, whose clients know `server_error` (RFC 6749, 5.2 and 4.1.2.1). */
const OAUTH: ReadonlySet<string> = new Set([
  '/device/code',
  '/oauth/token',
  '/oauth/revoke',
  '/.well-known/oauth-authorization-server',
])
const METHODS = new Set(['GET', 'POST', 'PATCH', 'DELETE'])

test('an error in any route is a 500 internal_error in the documented form, without details', async (t) => {
  const { made, routes } = await openBroken(t)
  const { account, key, ask } = made
  const token = await key(await account())
  const shapes = { api: 0, oauth: 0, pages: 0, scim: 0 }
  for (const { method, path, body: schema } of routes) {
    if (!METHODS.has(method) || path.includes('*')) continue
    const url = path.replaceAll(/:\w+/g, 'x')
    const isOauth = OAUTH.has(path)
    const body = method === 'GET' ? {} : { body: smallestBody(schema ?? {}) as object }
    // A schema may refuse the empty body before the handler: what counts is the shape of every 500.
    const answer = await ask(method as 'GET', url, { token, headers: OWN_PAGE, ...body })
    const where = `${method} ${path}: ${answer.statusCode} ${answer.body.slice(0, 200)}`
    assert.ok(!answer.body.includes('a bug'), where)
    assert.ok(!answer.body.includes('tp_secret'), where)
    if (answer.statusCode !== 500) {
      assert.ok([302, 303, 400, 401, 403, 404, 415, 422].includes(answer.statusCode), where)
      continue
    }
    if (String(answer.headers['content-type']).startsWith('text/html')) {
      assert.ok(!path.startsWith('/v1/'), where)
      shapes.pages += 1
      continue
    }
    const told = answer.json()
    if (isOauth) {
      assert.equal(told.error, 'server_error', where)
      shapes.oauth += 1
      continue
    }
    if (path.startsWith('/scim/')) {
      assert.deepEqual([told.schemas, told.status], [['urn:ietf:params:scim:api:messages:2.0:Error'], '500'], where)
      shapes.scim += 1
      continue
    }
    const { type, code, message, request_id: requestId = told.request_id } = told.error
    const isMessages = /^(?:\/v1)?\/messages(?:\/|$)/.test(path)
    assert.deepEqual([type, code], [isMessages ? 'api_error' : 'internal_error', 'internal_error'], where)
    assert.ok(typeof message === 'string' && message.length > 10, where)
    assert.equal(requestId, answer.headers['x-request-id'], where)
    assert.equal(answer.headers['x-should-retry'], undefined, where)
    shapes.api += 1
  }
  assert.ok(shapes.scim > 0)
  assert.ok(shapes.api >= 55, `${shapes.api} routes of the API`)
  assert.equal(shapes.oauth, OAUTH.size)
})
