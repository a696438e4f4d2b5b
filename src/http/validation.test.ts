/** Validation of requests by the schemas of their routes. Runs on one database. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AjvCompiler } from '@fastify/ajv-compiler'
import { routesOfTheService } from '../../test/support/http/routes.ts'
import { testIds } from '../../test/support/ids.ts'
import { createHttpServer } from './server.ts'
import { VALIDATION } from './validation.ts'

async function serverWith(t: TestContext, schema: object) {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: () => {},
  })
  t.after(() => app.close())
  app.post('/things', { schema }, async (request) => ({ query: request.query, body: request.body }))
  return app
}

test('requests are validated, and completed with defaults, from the first one on', async (t) => {
  const limit = { type: 'integer', maximum: 5, default: 3 }
  const app = await serverWith(t, {
    body: { type: 'object', required: ['a'], properties: { a: { type: 'string' }, limit } },
  })
  const post = async (body: object) => (await app.inject({ method: 'POST', url: '/things', body })).json()
  assert.match((await post({ a: 1 })).error.message, /a/)
  assert.deepEqual((await post({ a: 'x' })).body, { a: 'x', limit: 3 })
  assert.match((await post({ a: 'x', limit: 6 })).error.message, /limit/)
  assert.match((await post({})).error.message, /a/)
})

test('the schemas of all routes are valid, and compile', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-validation-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const routes = await routesOfTheService(t, folder)
  const compilers = AjvCompiler()
  let compiled = 0
  for (const { method, path, parts, shared } of routes) {
    const compile = compilers(shared(), { customOptions: { ...VALIDATION, validateSchema: true } })
    for (const part of parts) assert.doesNotThrow(() => compile({ schema: part }), `${method} ${path}`)
    compiled += parts.length
  }
  assert.ok(compiled > 100, `${compiled} schemas`)
})
