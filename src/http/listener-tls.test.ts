/** Runs on one database. Runs in a process of its own: it sends signals to itself. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, constants } from 'node:http2'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { Agent, request } from 'undici'
import { findTool } from '../../scripts/kit/machine-tools.ts'
import { testIds } from '../../test/support/ids.ts'
import { openConnection } from './connection.ts'
import { followCertificate, readCertificate, watchSockets } from './listener.ts'
import { createHttpServer } from './server.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-tls-'))
const files = { cert_file: join(folder, 'cert.pem'), key_file: join(folder, 'key.pem') }

function writeCertificate(name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:localhost`]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const out = ['-keyout', files.key_file, '-out', files.cert_file]
  execFileSync(findTool('openssl'), ['req', '-x509', ...key, ...subject, ...out], { stdio: 'ignore' })
}

writeCertificate('first')
let leaves = 0
const left: (() => void)[] = []
const app = await createHttpServer({
  newRequestId: testIds.request,
  trustProxy: [],
  corsOrigins: [],
  onError: () => {},
  draining: () => false,
  tls: files,
})
app.post('/events', (httpRequest, reply) => {
  const { endless } = httpRequest.body as { endless?: boolean }
  const connection = openConnection(reply)
  connection.onLeave(() => {
    leaves += 1
    for (const notify of left.splice(0)) notify()
  })
  connection.expectStream(() => ({ 'x-kind': 'events' }))
  void connection.write('data: 1\n\n')
  if (endless === true) return
  setImmediate(() => {
    void connection.write('data: 2\n\n')
    connection.endStream()
  })
})
app.post('/json', (httpRequest, reply) => {
  openConnection(reply).sendJson(JSON.stringify({ version: httpRequest.raw.httpVersion, host: httpRequest.host }), {})
})
const sockets = watchSockets(app.server)
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo
const url = `https://localhost:${port}`
const undici = new Agent({ allowH2: true, connect: { rejectUnauthorized: false } })
after(async () => {
  await undici.destroy()
  await app.close()
  rmSync(folder, { recursive: true })
})

const post = (path: string, body: object) => ({
  path,
  headers: { ':method': 'POST', ':path': path, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

test('HTTP/2 clients receive whole answers and event streams over one connection', async () => {
  const session = connect(url, { rejectUnauthorized: false })
  const ask = async (path: string, body: object) => {
    const { headers, body: text } = post(path, body)
    const stream = session.request(headers)
    const answered = once(stream, 'response')
    stream.end(text)
    const [answer] = await answered
    let received = ''
    for await (const piece of stream) received += String(piece)
    return { status: answer[':status'], answer, received }
  }
  const [whole, events] = await Promise.all([ask('/json', {}), ask('/events', {})])
  assert.deepEqual([whole.status, JSON.parse(whole.received)], [200, { version: '2.0', host: `localhost:${port}` }])
  assert.equal(events.received, 'data: 1\n\ndata: 2\n\n')
  assert.deepEqual(
    [events.answer['content-type'], events.answer['x-kind']],
    ['text/event-stream; charset=utf-8', 'events'],
  )
  assert.match(String(events.answer['x-request-id']), /^req_/)
  assert.equal((await ask('/missing', {})).status, 404)
  session.close()
})

test('a connection has a limited number of requests at once [limit: http2-streams]', async () => {
  const session = connect(url, { rejectUnauthorized: false })
  const [settings] = await once(session, 'remoteSettings')
  assert.equal(settings.maxConcurrentStreams, 256)
  session.close()
})

test('a client that cancels its stream leaves, and its connection stays', async () => {
  const session = connect(url, { rejectUnauthorized: false })
  const { headers, body } = post('/events', { endless: true })
  const before = leaves
  const hasLeft = new Promise<void>((resolve) => left.push(resolve))
  const stream = session.request(headers)
  stream.end(body)
  await once(stream, 'data')
  stream.close(constants.NGHTTP2_CANCEL)
  await hasLeft
  assert.equal(leaves, before + 1)
  assert.equal(session.destroyed, false)
  session.close()
})

test('undici streams and aborts over HTTP/2', async () => {
  const options = { dispatcher: undici, method: 'POST', headers: { 'content-type': 'application/json' } } as const
  const whole = await request(`${url}/json`, { ...options, body: '{}' })
  assert.equal(((await whole.body.json()) as { version: string }).version, '2.0')
  const events = await request(`${url}/events`, { ...options, body: '{}' })
  assert.equal(await events.body.text(), 'data: 1\n\ndata: 2\n\n')
  const hasLeft = new Promise<void>((resolve) => left.push(resolve))
  const abort = new AbortController()
  const endless = await request(`${url}/events`, { ...options, body: '{"endless":true}', signal: abort.signal })
  endless.body.once('error', () => {})
  await once(endless.body, 'data')
  abort.abort()
  await hasLeft
})

test('HTTP/1.1 clients are served on the same port', async () => {
  const agent = new HttpsAgent({ keepAlive: true, rejectUnauthorized: false })
  const { path, body } = post('/json', {})
  const sent = httpsRequest(`${url}${path}`, { agent, method: 'POST', headers: { 'content-type': 'application/json' } })
  sent.end(body)
  const [response] = await once(sent, 'response')
  let received = ''
  for await (const piece of response) received += String(piece)
  assert.equal(JSON.parse(received).version, '1.1')
  sockets.closeIdle()
  agent.destroy()
})

test('a drain ends sessions when their last stream has ended', async () => {
  const session = connect(url, { rejectUnauthorized: false })
  const { headers, body } = post('/events', { endless: true })
  const stream = session.request(headers)
  stream.end(body)
  await once(stream, 'data')
  const goingAway = once(session, 'goaway')
  sockets.closeIdle()
  await goingAway
  assert.equal(stream.destroyed, false)
  stream.close(constants.NGHTTP2_CANCEL)
  if (!session.destroyed) await once(session, 'close')
})

async function nameServed(): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return String(CN)
}

test('changed files are used for new connections; a key that does not fit is reported', async () => {
  assert.equal(await nameServed(), 'first')
  const reports: (Error | undefined)[] = []
  const stop = followCertificate(app.server as never, files, (error) => reports.push(error))
  writeCertificate('second')
  process.emit('SIGHUP')
  assert.deepEqual(reports, [undefined])
  assert.equal(await nameServed(), 'second')
  assert.throws(() => readCertificate({ ...files, key_file: files.cert_file }), /not a certificate and its key/)
  assert.throws(() => readCertificate({ ...files, key_file: 'nowhere' }), /nowhere cannot be read \(ENOENT\)/)
  stop()
})
