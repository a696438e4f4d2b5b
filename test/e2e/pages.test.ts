/** Runs on one database: it is about what is said and shown. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import { send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
import { runCommandHere } from '../support/process/command-in-process.ts'

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

test('/docs/ serves the built documentation, each page also as Markdown, and /llms.txt lists them', async () => {
  assert.equal((await send(gateway, '/docs')).headers['location'], '/docs/')
  assert.equal((await send(gateway, '/docs/clients')).headers['location'], '/docs/clients/')
  assert.equal((await send(gateway, '/docs/clients/editors')).headers['location'], '/docs/clients/')
  const page = await send(gateway, '/docs/errors')
  assert.equal(page.status, 200)
  assert.match(page.text, /<tr id="missing_field"/)
  assert.doesNotMatch(page.text, /<script(?![^>]*src=)|<style| style="|https?:\/\/[^"]*\.js/)
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /script-src 'self'; style-src 'self';.*require-trusted-types-for 'script'/)
  const list = await send(gateway, '/llms.txt')
  const pages = [...list.text.matchAll(/\((\/docs\/[\w/-]+\.md)\)/g)].map(([, path = '']) => path)
  assert.ok(pages.length > 50)
  for (const path of pages) {
    const { status, headers, text } = await send(gateway, path)
    assert.deepEqual([status, headers['content-type']], [200, 'text/markdown; charset=utf-8'], path)
    assert.match(text, /^# /, path)
  }
})

test('the JSON Schema that docs/configuration.md names is served: what turnpike config schema prints', async () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const [, path = ''] = /^# yaml-language-server: \$schema=http:\/\/localhost:7575(\S+)$/m.exec(page) ?? []
  const { status, headers, text } = await send(gateway, path)
  assert.deepEqual([status, headers['content-type']], [200, 'application/json; charset=utf-8'])
  const { out } = await runCommandHere(['config', 'schema'], { cwd: tmpdir(), env: {} })
  assert.equal(text, out)
})

test('unknown pages of the documentation are 404, and no path leads outside of it', async () => {
  for (const path of ['/docs/none', '/docs/../package.json', '/docs/..%2f..%2fpackage.json', '/docs/inputs.txt']) {
    assert.equal((await send(gateway, path)).status, 404, path)
  }
})

test('an error names its row in the documentation', async () => {
  const { error } = JSON.parse((await send(gateway, '/v1/models')).text) as { error: { doc_url: string } }
  assert.equal(error.doc_url, '/docs/errors#missing_credential')
  const [path = '', row] = error.doc_url.split('#')
  assert.ok((await send(gateway, path)).text.includes(`<tr id="${row}"`))
})
