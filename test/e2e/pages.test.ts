/** Runs on one database: it is about what is said and shown. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'

const gateway = await startGateway()
after(() => gateway.stop())

test('/ redirects browsers to a page, the dashboard if it is built, that loads nothing from another origin', async () => {
  const root = await send(gateway, '/')
  assert.equal(root.status, 302)
  assert.equal(root.headers['location'], '/app/')
  const page = await send(gateway, '/app/')
  assert.equal(page.status, 200)
  assert.match(page.text, /Turnpike is running|<title>Turnpike<\/title>/)
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none'/)
  assert.doesNotMatch(page.text, /<script>|https?:\/\/(?!localhost)/)
})

test('/docs describes every operation of the OpenAPI document', async () => {
  const page = await send(gateway, '/docs')
  assert.equal(page.status, 200)
  const document = JSON.parse((await send(gateway, '/openapi.json')).text) as { paths: Record<string, object> }
  const paths = Object.keys(document.paths)
  assert.ok(paths.includes('/v1/chat/completions'))
  for (const path of paths) assert.ok(page.text.includes(`${path}</code></h2>`), path)
  assert.match(page.text, /<code>messages<\/code> \(required\)/)
  assert.doesNotMatch(page.text, /<script|\[object/)
})
