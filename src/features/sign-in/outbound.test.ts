import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SignInError } from './failure.ts'
import { createOutbound } from './outbound.ts'

const MAX_BYTES = 256 * 1024

/** Answers with as many bytes as its path says. */
async function startProvider(t: TestContext): Promise<string> {
  const server = createServer((request, response) => response.end(Buffer.alloc(Number(request.url?.slice(1)), 'x')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
}

test('an identity provider’s answer of 256 KiB is read, a longer one is none [limit: idp-answer]', async (t) => {
  const url = await startProvider(t)
  const outbound = createOutbound()
  const read = (bytes: number) =>
    outbound.visit(async (fetch) => {
      const response = await fetch(`${url}/${bytes}`, {
        method: 'GET',
        headers: {},
        body: undefined,
        redirect: 'manual',
      })
      return (await response.arrayBuffer()).byteLength
    })
  assert.equal(await read(MAX_BYTES), MAX_BYTES)
  await assert.rejects(read(MAX_BYTES + 1), (error) => error instanceof SignInError && error.kind === 'untrusted')
})
