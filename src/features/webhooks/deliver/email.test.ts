import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { openDeliveryFixture, SECRETS } from '../../../../test/support/webhooks/deliveries.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { SmtpSettings } from '../recipients.ts'

interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
  readonly user: string | undefined
}

async function startMailServer(t: TestContext, over: Partial<SMTPServerOptions> = {}) {
  const mails: Received[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'correct' ? done(null, { user: username }) : done(new Error('wrong password')),
    async onData(stream, { envelope, user }, done) {
      const pieces: Buffer[] = []
      for await (const piece of stream) pieces.push(piece)
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
      const text = Buffer.concat(pieces).toString()
      mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), text, user: user as string | undefined })
      done()
    },
    ...over,
  })
  const port = await listen(t, server.server, () => server.listen(0, '127.0.0.1'))
  const smtp: SmtpSettings = { host: '127.0.0.1', port, security: 'none', from: 'turnpike@gateway.example' }
  return { mails, smtp }
}

async function listen(t: TestContext, server: Server, start: () => unknown): Promise<number> {
  start()
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

const EMAIL = { kind: 'email' } as const

test('an event arrives by e-mail, with credentials, as one message with a stable ID', async (t) => {
  const { mails, smtp } = await startMailServer(t)
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint('mailto:ops@example.com', EMAIL)
  const eventId = await fixture.event(endpoint)
  const settings = { smtp: { ...smtp, user: 'turnpike', password: 'correct' }, recipientDomains: ['example.com'] }
  fixture.work({ mail: () => settings, publicUrl: 'https://gateway.example' })
  const delivery = await fixture.tried(endpoint, 1)
  assert.deepEqual([delivery.status, delivery.error], ['delivered', null])
  assert.equal((await fixture.attempts(endpoint))[0]?.status, 250)
  const [mail, ...others] = mails
  assert.ok(mail !== undefined && others.length === 0)
  assert.deepEqual([mail.from, mail.to, mail.user], [smtp.from, ['ops@example.com'], 'turnpike'])
  assert.match(mail.text, /^Subject: Turnpike: test message\r$/m)
  assert.match(mail.text, new RegExp(`^Message-ID:\\s+<${eventId}\\.${endpoint.id}@gateway\\.example>\r$`, 'm'))
  assert.match(mail.text, /^Dashboard: https:\/\/gateway\.example\/app\/\r$/m)
})

test('a temporary refusal is retried until the server accepts, and a wrong password has stable words', async (t) => {
  let refusals = 0
  const { mails, smtp } = await startMailServer(t, {
    onRcptTo: (_address, _session, done) =>
      refusals++ === 0 ? done(Object.assign(new Error('greylisted'), { responseCode: 451 })) : done(),
  })
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint('mailto:ops@example.com', EMAIL)
  await fixture.event(endpoint)
  const denied = await fixture.endpoint('mailto:denied@example.org', EMAIL)
  await fixture.event(denied)
  const rules = (own: Partial<SmtpSettings>) => ({ smtp: { ...smtp, ...own }, recipientDomains: ['example.com'] })
  const worker = fixture.work({ mail: () => rules({}), delaysMs: [20, 20] })
  const delivery = await fixture.tried(endpoint, 2)
  assert.equal(delivery.status, 'delivered')
  assert.deepEqual(
    (await fixture.attempts(endpoint)).map(({ status, error }) => [status, error]),
    [
      [451, 'status 451'],
      [250, null],
    ],
  )
  assert.equal(mails.length, 1)
  await fixture.tried(denied, 3)
  assert.equal((await fixture.attempts(denied))[0]?.error, 'recipient not allowed')
  await worker.runner.stop()
  const wrong = await fixture.endpoint('mailto:wrong@example.com', EMAIL)
  await fixture.event(wrong)
  fixture.work({ mail: () => rules({ user: 'turnpike', password: 'wrong' }) })
  await fixture.tried(wrong, 1)
  assert.equal((await fixture.attempts(wrong))[0]?.error, 'mail server: authentication failed')
  assert.equal(mails.length, 1)
})

test('starttls does not fall back to an unencrypted connection', async (t) => {
  const { mails, smtp } = await startMailServer(t)
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint('mailto:ops@example.com', EMAIL)
  await fixture.event(endpoint)
  fixture.work({ mail: () => ({ smtp: { ...smtp, security: 'starttls' }, recipientDomains: ['*'] }) })
  await fixture.tried(endpoint, 1)
  assert.equal((await fixture.attempts(endpoint))[0]?.error, 'mail server: TLS failed')
  assert.equal(mails.length, 0)
})

test('a member receives e-mail until the membership ends', async (t) => {
  const { mails, smtp } = await startMailServer(t)
  const fixture = await openDeliveryFixture(t)
  const { db } = fixture.database
  const userId = 'usr_ada' as UserId
  await db
    .insertInto('person')
    .values({ id: userId, email: 'Ada@example.com', name: 'Ada', created_at: 1, changed_at: 1 })
    .execute()
  await db
    .insertInto('member')
    .values({ account_id: fixture.accountId, user_id: userId, role: 'owner', created_at: 1, changed_at: 1 })
    .execute()
  const endpoint = await fixture.endpoint('mailto:ada@example.com', EMAIL)
  await fixture.event(endpoint)
  fixture.work({ mail: () => ({ smtp, recipientDomains: [] }) })
  assert.equal((await fixture.tried(endpoint, 1)).status, 'delivered')
  await db.updateTable('member').set({ removed_at: 2, changed_at: 2 }).where('user_id', '=', userId).execute()
  const later = await fixture.endpoint('mailto:ada@example.com', EMAIL)
  await fixture.event(later)
  await fixture.tried(later, 1)
  assert.equal((await fixture.attempts(later))[0]?.error, 'recipient not allowed')
  assert.equal(mails.length, 1)
})

test('Slack receives a text at the sealed address, and a private address is refused', async (t) => {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = request.url ?? ''
    for await (const piece of request) body += ` ${piece}`
    bodies.push(body)
    response.end('ok')
  })
  const port = await listen(t, server, () => server.listen(0, '127.0.0.1'))
  const fixture = await openDeliveryFixture(t)
  const origin = `http://127.0.0.1:${port}`
  const toSlack = async () => {
    const endpoint = await fixture.endpoint(`${origin}/…`, { kind: 'slack' })
    const secret = SECRETS.seal(`${origin}/services/T0/B0/secret`, endpoint.id)
    await fixture.database.db.updateTable('webhook').set({ secret }).where('id', '=', endpoint.id).execute()
    await fixture.event(endpoint)
    return endpoint
  }
  const worker = fixture.work()
  assert.equal((await fixture.tried(await toSlack(), 1)).status, 'delivered')
  const [path, body] = bodies[0]?.split(/ (.*)/s) ?? []
  assert.equal(path, '/services/T0/B0/secret')
  assert.match(JSON.parse(body ?? '').text, /^\*Turnpike: test message\*\nThis endpoint receives alerts\.\n/)
  await worker.runner.stop()
  const refused = await toSlack()
  fixture.work({ allowPrivateNetworks: () => false })
  await fixture.tried(refused, 1)
  assert.equal((await fixture.attempts(refused))[0]?.error, 'address not allowed')
  assert.equal(bodies.length, 1)
})
