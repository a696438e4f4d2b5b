import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Type } from 'typebox'
import { testIds } from '../../test/support/ids.ts'
import { documentErrors, serveOpenApi } from './openapi.ts'
import { createHttpServer } from './server.ts'

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

async function setUp(t: TestContext) {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: () => {},
  })
  t.after(() => app.close())
  await serveOpenApi(app, { version: '1.2.3', publicUrl: 'https://ai.example.com' })
  return app
}

type App = Awaited<ReturnType<typeof setUp>>

async function documentOf(app: App) {
  return (await app.inject('/openapi.json')).json() as {
    readonly info: { readonly version: string }
    readonly servers: readonly { readonly url: string }[]
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    readonly components: { readonly schemas: Readonly<Record<string, object>> }
  }
}

const schemaOf = (operation: Operation | undefined, status: string): object | undefined =>
  operation?.responses[status]?.content?.['application/json']?.schema

test('every route registered after it documents that it may answer with an error, beside its own answers', async (t) => {
  const app = await setUp(t)
  const answer = Type.Object({ ok: Type.Boolean() })
  app.get('/before', { schema: { summary: 'x' } }, () => ({}))
  await app.register(async (inner) => {
    documentErrors(inner)
    inner.get('/after', { schema: { summary: 'x', response: { 200: answer } } }, () => ({ ok: true }))
    inner.delete('/nothing', { schema: { summary: 'x' } }, (_request, reply) => reply.code(204).send())
  })
  const { paths, components } = await documentOf(app)
  const after = paths['/after']?.['get']
  assert.deepEqual(schemaOf(after, '200'), JSON.parse(JSON.stringify(answer)))
  for (const status of ['4XX', '5XX']) {
    assert.deepEqual(schemaOf(after, status), { $ref: '#/components/schemas/Error' })
    assert.deepEqual(schemaOf(paths['/nothing']?.['delete'], status), { $ref: '#/components/schemas/Error' })
  }
  assert.deepEqual(Object.keys(paths['/before']?.['get']?.responses ?? {}), ['200'])
  assert.ok('Error' in components.schemas)
})

test('hidden routes are in no document, and the document tells version and address', async (t) => {
  const app = await setUp(t)
  app.get('/secret', { schema: { hide: true } }, () => ({}))
  const { info, servers, paths } = await documentOf(app)
  assert.equal(info.version, '1.2.3')
  assert.deepEqual(servers, [{ url: 'https://ai.example.com' }])
  assert.deepEqual(Object.keys(paths), [])
})

test('the document is the same however often it is asked for', async (t) => {
  const app = await setUp(t)
  app.get('/a', { schema: { summary: 'x' } }, () => ({}))
  assert.equal((await app.inject('/openapi.json')).body, (await app.inject('/openapi.json')).body)
})

test('the ways to send a key are documented, as clients of both APIs send it', async (t) => {
  const document = (await (await setUp(t)).inject('/openapi.json')).json()
  const { bearer, basic, apiKey } = document.components.securitySchemes
  assert.deepEqual([bearer.scheme, basic.scheme, apiKey.in, apiKey.name], ['bearer', 'basic', 'header', 'x-api-key'])
  assert.deepEqual(document.security, [{ bearer: [] }, { basic: [] }, { apiKey: [] }])
})
