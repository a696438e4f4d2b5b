/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'

const gateway = await startGateway()
after(() => gateway.stop())

interface Operation {
  readonly summary?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
  readonly responses: Readonly<Record<string, object>>
}
interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
const answer = await send(gateway, '/openapi.json')
const document = JSON.parse(answer.text) as Document

const OPERATIONS: readonly (readonly [method: string, path: string])[] = [
  ['post', '/v1/chat/completions'],
  ['get', '/v1/models'],
  ['get', '/v1/usage'],
  ['get', '/v1/usage/completions'],
  ['get', '/v1/usage/completions/{id}'],
  ['get', '/v1/usage/completions/stream'],
  ['get', '/v1/usage/rejections'],
  ['get', '/v1/usage/performance'],
  ['get', '/v1/models/{id}'],
  ['get', '/v1/keys'],
  ['post', '/v1/keys'],
  ['patch', '/v1/keys/{id}'],
  ['delete', '/v1/keys/{id}'],
  ['post', '/v1/keys/{id}/rotate'],
  ['get', '/v1/account'],
  ['patch', '/v1/account'],
  ['get', '/v1/ledger'],
  ['get', '/v1/ledger/statement'],
  ['get', '/v1/usage/reconcile'],
  ['get', '/v1/invoices'],
  ['get', '/v1/invoices/{id}'],
  ['get', '/v1/agents'],
  ['post', '/v1/agents'],
  ['get', '/v1/agents/{id}'],
  ['delete', '/v1/agents/{id}'],
  ['post', '/v1/agents/{id}/followup'],
  ['post', '/v1/agents/{id}/cancel'],
  ['post', '/v1/agents/{id}/pull-request'],
  ['get', '/v1/agents/{id}/messages'],
  ['get', '/v1/agents/{id}/runs'],
  ['get', '/v1/agents/{id}/diff'],
  ['get', '/v1/agents/{id}/events'],
  ['get', '/v1/guardrails'],
  ['post', '/v1/guardrails'],
  ['get', '/v1/guardrails/{id}'],
  ['patch', '/v1/guardrails/{id}'],
  ['delete', '/v1/guardrails/{id}'],
  ['get', '/v1/content-capture'],
  ['put', '/v1/content-capture'],
  ['get', '/v1/usage/completions/{id}/content'],
  ['delete', '/v1/usage/completions/{id}/content'],
  ['get', '/v1/usage/content'],
  ['delete', '/v1/usage/content'],
  ['get', '/v1/provider-credentials'],
  ['post', '/v1/provider-credentials'],
  ['get', '/v1/provider-credentials/{id}'],
  ['patch', '/v1/provider-credentials/{id}'],
  ['delete', '/v1/provider-credentials/{id}'],
  ['get', '/v1/webhooks'],
  ['post', '/v1/webhooks'],
  ['get', '/v1/webhooks/{id}'],
  ['patch', '/v1/webhooks/{id}'],
  ['delete', '/v1/webhooks/{id}'],
  ['post', '/v1/webhooks/{id}/rotate_secret'],
  ['post', '/v1/webhooks/{id}/test'],
  ['get', '/v1/webhooks/{id}/deliveries'],
  ['get', '/v1/webhooks/{id}/deliveries/{delivery_id}'],
  ['post', '/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver'],
  ['post', '/v1/webhooks/{id}/redeliver'],
  ['get', '/v1/events'],
  ['get', '/v1/events/stream'],
  ['post', '/v1/events/trigger'],
  ['get', '/v1/admin/accounts'],
  ['post', '/v1/admin/accounts'],
  ['patch', '/v1/admin/accounts/{id}'],
  ['post', '/v1/admin/accounts/{id}/credits'],
  ['get', '/v1/admin/instances'],
  ['get', '/v1/admin/providers'],
  ['get', '/v1/admin/provider_kinds'],
  ['get', '/v1/admin/price_ends'],
  ['post', '/v1/admin/providers/{name}/test'],
]

/** Every object in a document, with the pointer to it. */
function* objectsOf(
  value: unknown,
  pointer = '#',
): Generator<readonly [pointer: string, value: Readonly<Record<string, unknown>>]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [pointer, value as Readonly<Record<string, unknown>>]
  for (const [name, part] of Object.entries(value)) yield* objectsOf(part, `${pointer}/${name}`)
}

function resolvePointer(pointer: string): unknown {
  const names = pointer.split('/').slice(1)
  return names.reduce<unknown>(
    (value, name) =>
      (value as Readonly<Record<string, unknown>> | undefined)?.[
        decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
      ],
    document,
  )
}

test('the document is OpenAPI 3.1 and needs no key', () => {
  assert.equal(answer.status, 200)
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
  assert.match(document.openapi, /^3\.1\./)
  assert.equal(document.info.title, 'Turnpike')
})

for (const [method, path] of OPERATIONS) {
  test(`it describes ${method.toUpperCase()} ${path} with summary and answers`, () => {
    const operation = document.paths[path]?.[method]
    assert.ok(operation, Object.keys(document.paths).join(' '))
    assert.ok(operation.summary)
    const statuses = Object.keys(operation.responses)
    assert.ok(statuses.some((status) => status.startsWith('2')))
    assert.ok(
      statuses.some((status) => /^[45]/.test(status) || status === 'default'),
      'errors too',
    )
  })
}

test('one model can be read by its ID', () => {
  assert.ok(Object.keys(document.paths).some((path) => /^\/v1\/models\/./.test(path)))
})

test('every reference leads somewhere', () => {
  for (const [pointer, { $ref }] of objectsOf(document)) {
    if (typeof $ref !== 'string') continue
    assert.match($ref, /^#\//, pointer)
    assert.ok(resolvePointer($ref) !== undefined, `${pointer} → ${$ref}`)
  }
})

test('every parameter of a path is declared, and every path is a path', () => {
  for (const [path, operations] of Object.entries(document.paths)) {
    assert.match(path, /^\/[^:*]*$/, 'no router syntax')
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
      const declared = parameters.filter(({ in: place }) => place === 'path').map(({ name }) => name)
      assert.deepEqual(declared.sort(), [...names].sort(), `${method} ${path}`)
      for (const status of Object.keys(responses))
        assert.match(status, /^([1-5]\d\d|[1-5]XX|default)$/, `${method} ${path}`)
    }
  }
})

test('the request of a completion names every field of the contract’s table', () => {
  const operation = document.paths['/v1/chat/completions']?.['post']
  let schema: unknown = operation?.requestBody?.content['application/json']?.schema
  const reference = (schema as { readonly $ref?: string } | undefined)?.$ref
  if (reference !== undefined) schema = resolvePointer(reference)
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }
  const names = Object.keys(properties)
  for (const name of ['model', 'messages', 'temperature', 'max_tokens', 'stream', 'top_p', 'stop', 'n'])
    assert.ok(names.includes(name), name)
  assert.deepEqual([...required].sort(), ['messages', 'model'])
})
