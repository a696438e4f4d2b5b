/** The programs and commands of docs/webhooks.md, in the terminals that the page names. Runs on one database. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { signWebhook } from '../../../src/domain/webhook-signature.ts'
import { startGateway } from '../../support/gateway.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'
import { freePort } from '../../support/process/free-port.ts'
import { installPackage } from '../../support/process/packed-packages.ts'
import { SECRET } from '../../support/webhooks/secrets.ts'

const PAGE = 'docs/webhooks.md'

const gateway = await startGateway()
const port = await freePort()
const words: Record<string, string> = { 'localhost:8000': `localhost:${port}` }
const reader = makeReader({ gateway, key: await gateway.key(), words })
after(async () => {
  reader.remove()
  await gateway.stop()
})

test(`${PAGE}, Development: a triggered event arrives at the receiver of the page`, async () => {
  const folder = join(reader.folder, 'receiver')
  mkdirSync(folder)
  installPackage('webhooks', folder)
  writeFileSync(join(folder, 'receiver.mjs'), blockOf(PAGE, 'import { createServer }').text)
  const listener = reader.start(blockOf(PAGE, 'turnpike webhooks listen').text)
  try {
    const [, secret = ''] = await listener.printed(/TURNPIKE_WEBHOOK_SECRET=(whsec_\S+)/)
    await listener.printed(/Listening/)
    const start = blockOf(PAGE, 'TURNPIKE_WEBHOOK_SECRET=').text.replace('whsec_…', secret)
    const receiver = reader.start(`cd receiver\n${start}`, { PORT: String(port) })
    try {
      await receiver.printed(/listening on/)
      const { code, output } = await reader.sh(blockOf(PAGE, 'turnpike webhooks trigger').text)
      assert.equal(code, 0, output)
      await receiver.printed(/Fix typos failed: The agent stopped at its limit/)
    } finally {
      await receiver.stop()
    }
  } finally {
    await listener.stop('SIGINT')
  }
})

/** One signed request, as a program of the page receives it: the headers in the environment, the body as input. */
interface Verifier {
  readonly program: string
  readonly words: readonly string[]
}

const GO_TEST = `package webhook

import (
	"io"
	"net/http"
	"os"
	"testing"
)

func TestVerify(t *testing.T) {
	header := http.Header{}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		header.Set(name, os.Getenv(name))
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(body, header, os.Getenv("secret")); err != nil {
		t.Fatal(err)
	}
}
`

function makeGo(): Verifier {
  const folder = join(reader.folder, 'go')
  mkdirSync(folder)
  writeFileSync(join(folder, 'go.mod'), 'module example.com/webhook\n\ngo 1.19\n')
  writeFileSync(join(folder, 'webhook.go'), blockOf(PAGE, 'package webhook').text)
  writeFileSync(join(folder, 'webhook_test.go'), GO_TEST)
  // Where nothing is in Go's cache, its library is compiled as well: without optimizations in a third less time.
  const env = { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' }
  const quick = ['-gcflags=all=-N -l', '-ldflags=-s -w']
  execFileSync(findTool('go'), ['test', '-c', ...quick, '-o', 'verify', '.'], { cwd: folder, env, stdio: 'pipe' })
  return { program: join(folder, 'verify'), words: [] }
}

const RUBY_MAIN = `
begin
  puts verify_webhook($stdin.read, ENV, ENV["secret"])["event_id"]
rescue ArgumentError => error
  abort error.message
end
`

function makeRuby(): Verifier {
  const file = join(reader.folder, 'webhook.rb')
  writeFileSync(file, `${blockOf(PAGE, 'require "json"').text}\n${RUBY_MAIN}`)
  return { program: findTool('ruby'), words: [file] }
}

const BODY = '{"event_id":"evt_1","data":{"name":"Grüße"}}'

for (const [language, make] of Object.entries({ Go: makeGo, Ruby: makeRuby })) {
  test(`${PAGE}: the ${language} of the page accepts signed requests and rejects all others`, () => {
    const { program, words: args } = make()
    const verify = (sent: string, { ageSeconds = 0, key = SECRET, secret = SECRET } = {}): string => {
      const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
      const signed = signWebhook({ id: 'evt_1', timestamp, body: BODY, secrets: [key] })
      const env = { ...process.env, ...signed, secret }
      const { status, stdout, stderr } = spawnSync(program, args, { env, input: sent, encoding: 'utf8' })
      return status === 0 ? 'accepted' : stdout + stderr
    }
    assert.equal(verify(BODY), 'accepted')
    assert.match(verify(BODY.replace('evt_1', 'evt_2')), /no signature matches/)
    assert.match(verify(BODY, { ageSeconds: 400 }), /too old or too new/)
    assert.match(verify(BODY, { ageSeconds: -400 }), /too old or too new/)
    assert.match(verify(BODY, { key: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }), /no signature matches/)
    assert.match(verify(BODY, { secret: 'whsec_AAAA' }), /no webhook secret/)
  })
}
