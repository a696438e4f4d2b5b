/** Runs the examples of `docs/webhooks.md` and of the package's README unchanged, and compares the bodies with those sent. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { exampleWebhookEvent, renderWebhookBody, WEBHOOK_EVENT_TYPES } from '../../../src/domain/webhook-event.ts'
import { signWebhook } from '../../../src/domain/webhook-signature.ts'
import { MACHINE_PATH } from '../../support/http/documentation.ts'
import { installPackage } from '../../support/process/packed-packages.ts'
import { SECRET } from '../../support/webhooks/secrets.ts'

const PAGE = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8')
const README = readFileSync(new URL('../../../packages/webhooks/README.md', import.meta.url), 'utf8')
const VERIFIER = new URL('../../../packages/webhooks/src/index.ts', import.meta.url)
const FACTS = {
  eventId: 'evt_00000000exampleexample',
  createdAt: Date.parse('2026-11-20T16:30:00.000Z'),
  accountId: 'acc_00000000exampleexample',
  webhookId: 'whk_00000000exampleexample',
}
const FAILED = exampleWebhookEvent('agent.failed', FACTS)

const folder = mkdtempSync(join(tmpdir(), 'turnpike-webhooks-'))
after(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
installPackage('webhooks', folder)

function fences(language: string, page = PAGE): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, code = '']) => code)
}

interface Receiver {
  readonly url: string
  /** The next line that it prints. */
  line(): Promise<string>
  stop(): Promise<void>
}

async function startReceiver(program: string, file: string): Promise<Receiver> {
  const env = { ...process.env, PATH: MACHINE_PATH, PORT: '0', TURNPIKE_WEBHOOK_SECRET: SECRET, NO_COLOR: '1' }
  const child = spawn(program, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (piece: Buffer) => {
    complaints += piece.toString()
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async (): Promise<string> => ((await lines.next()) as { value: string | undefined }).value ?? ''
  let printed = ''
  while (!/port:? \d+/.test(printed)) {
    const next = await line()
    assert.notEqual(next, '', `${program} ended before it listened: ${complaints}`)
    printed += next
  }
  return {
    url: `http://127.0.0.1:${/port:? (\d+)/.exec(printed)?.[1]}/`,
    line,
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

interface Attempt {
  readonly body?: string
  readonly sentBody?: string
  readonly ageSeconds?: number
  readonly secrets?: readonly string[]
}

const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

async function post(url: string, { body = renderWebhookBody(FAILED), ...rest }: Attempt = {}): Promise<number> {
  const timestamp = Math.floor(Date.now() / 1000) - (rest.ageSeconds ?? 0)
  const signed = signWebhook({ id: FAILED.event_id, timestamp, body, secrets: rest.secrets ?? [SECRET] })
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...signed, 'content-type': 'application/json' },
    body: rest.sentBody ?? body,
  })
  await response.arrayBuffer()
  return response.status
}

for (const { language, program, file, on } of [
  { language: 'js', program: process.execPath, file: 'receiver.mjs', on: ', on the bundled Node.js' },
  { language: 'js', program: 'node', file: 'receiver.mjs', on: ', on the Node.js of this machine' },
  { language: 'python', program: 'python3', file: 'receiver.py', on: '' },
]) {
  test(`WH-1${on}: the ${language} of docs/webhooks.md, run unchanged, accepts signed requests and rejects all others`, async () => {
    const [code = ''] = fences(language)
    writeFileSync(join(folder, file), code)
    const receiver = await startReceiver(program, file)
    try {
      assert.equal(await post(receiver.url), 204)
      assert.match(await receiver.line(), /^Fix typos failed: The agent stopped at its limit/)
      assert.equal(await post(receiver.url), 204, 'a duplicate is answered like the first')
      assert.equal(await post(receiver.url, { secrets: [OTHER, SECRET] }), 204, 'in a rotation')
      const body = renderWebhookBody(FAILED)
      assert.equal(await post(receiver.url, { sentBody: body.replace('Fix', 'Fax') }), 400, 'a changed body')
      assert.match(await receiver.line(), /^refused: /, 'duplicates print nothing')
      assert.equal(await post(receiver.url, { sentBody: JSON.stringify(JSON.parse(body), null, 1) }), 400)
      assert.equal(await post(receiver.url, { secrets: [OTHER] }), 400, 'another secret')
      assert.equal(await post(receiver.url, { ageSeconds: 400 }), 400, 'an old request')
      assert.equal(await post(receiver.url, { ageSeconds: -400 }), 400, 'one from the future')
      const { 'Turnpike-Signature': signature } = signWebhook({ id: '', timestamp: 0, body, secrets: [SECRET] })
      const headers = { 'Turnpike-Signature': signature }
      assert.equal((await fetch(receiver.url, { method: 'POST', body, headers })).status, 400, 'of unknown age')
      assert.equal((await fetch(receiver.url, { method: 'POST', body })).status, 400, 'no signature')
    } finally {
      await receiver.stop()
    }
  })
}

for (const program of [process.execPath, 'node']) {
  test(`WH-1, on ${program === 'node' ? 'the Node.js of this machine' : 'the bundled Node.js'}: the example of the package's README accepts a signed delivery and rejects others`, async () => {
    const [code = ''] = fences('js', README)
    writeFileSync(join(folder, 'readme.mjs'), code)
    const receiver = await startReceiver(program, 'readme.mjs')
    try {
      assert.equal(await post(receiver.url), 204)
      assert.equal(await receiver.line(), `agent.failed ${FAILED.event_id}`)
      assert.equal(await post(receiver.url, { secrets: [OTHER] }), 400)
      assert.equal(await receiver.line(), 'rejected: signature_mismatch')
      assert.equal(await post(receiver.url, { ageSeconds: 400 }), 400)
      assert.equal(await receiver.line(), 'rejected: timestamp_too_old')
    } finally {
      await receiver.stop()
    }
  })
}

test('the bodies in docs/webhooks.md are the examples that are sent, one of each type', () => {
  const bodies = fences('json').map((code) => JSON.parse(code) as unknown)
  assert.deepEqual(
    bodies,
    WEBHOOK_EVENT_TYPES.map((type) => exampleWebhookEvent(type, FACTS)),
  )
})

test('docs/webhooks.md has code for receivers in four languages, and names every reason', () => {
  for (const language of ['js', 'python', 'go', 'ruby']) assert.equal(fences(language).length, 1, language)
  const [, reasons = ''] = /WebhookVerificationReason =([^;]*?)\n\n/.exec(readFileSync(VERIFIER, 'utf8')) ?? []
  const names = [...reasons.matchAll(/'(\w+)'/g)].map(([, name = '']) => name)
  assert.ok(names.length > 0)
  for (const name of names) assert.ok(PAGE.includes(`\`${name}\``), name)
})
