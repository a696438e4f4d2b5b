import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { awsStream } from '../../test/support/providers/aws-events.ts'
import { type SignedRequest, verifySignature } from '../../test/support/providers/sigv4.ts'
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import type { Model } from '../domain/model.ts'
import { startCall } from '../gateway/upstream/call.ts'
import { createHttpTransport, type HttpTransport } from '../gateway/upstream/transport.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { type ProviderConfig, type ResolvedProvider, resolveProvider } from './index.ts'

const CONFIG: ProviderConfig = { timeout_ms: { connect: 60_000, idle: 60_000, total: 60_000 }, on_disconnect: 'cancel' }
const REQUEST: ChatRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Grüße 👋' }],
  stream: true,
  includeUsage: false,
  n: 1,
  extra: {},
}
const MODEL = {} as Model
const EVENTS = [
  { messageStart: { role: 'assistant' } },
  { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hello' } } },
  { messageStop: { stopReason: 'end_turn' } },
  { metadata: { usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } } },
]

let received: SignedRequest[] = []
let answer: { status: number; headers: Record<string, string>; body: Buffer }
const server = createServer(async (request, response) => {
  received.push({
    method: request.method ?? '',
    path: request.url ?? '',
    headers: headersOf(request),
    body: await bodyOf(request),
  })
  response.writeHead(answer.status, answer.headers).end(answer.body)
})
let url: string
let transport: HttpTransport

function headersOf(request: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts)
}

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  transport = createHttpTransport(url, 60_000)
})
beforeEach(() => {
  received = []
  answer = { status: 200, headers: { 'content-type': 'application/vnd.amazon.eventstream' }, body: awsStream(EVENTS) }
})
after(async () => {
  await transport.close()
  server.close()
})

function resolved(config: Partial<ProviderConfig>): ResolvedProvider {
  return resolveProvider('bedrock', { ...CONFIG, region: 'eu-west-1', base_url: url, ...config })
}

/** The events of one call through the gateway's own caller. */
async function call(config: Partial<ProviderConfig>, request = REQUEST, model = 'us.amazon.nova-lite-v1:0') {
  const provider = resolved(config)
  const upstream = { ...provider, transport: transport.transport }
  const target = { upstream, model, credential: provider.credentials[0] ?? '' }
  const started = startCall({ target, request, model: MODEL, now: Date.now, clock: () => performance.now() })
  await started.firstEvent
  const events: ChatEvent[] = []
  for (;;) {
    const more: ChatEvent[] = []
    if (!(await started.next(more))) return events
    events.push(...more)
  }
}

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const EXPECTED = { ...KEY, region: 'eu-west-1', service: 'bedrock' }
const PAIR = `${KEY.accessKeyId}:${KEY.secretAccessKey}`

test('a streamed answer is read out of its binary frames', async () => {
  assert.deepEqual(await call({ api_key: 'a-bedrock-key' }), [
    { type: 'text', index: 0, text: 'Hello' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'end_turn' },
    { type: 'usage', usage: { promptTokens: 3, completionTokens: 1 } },
  ])
  assert.equal(received[0]?.headers['accept'], 'application/vnd.amazon.eventstream')
})

test('a key of two parts signs the bytes that are sent', async () => {
  await call({ api_key: PAIR })
  const [request] = received
  assert.ok(request)
  assert.equal(request.path, '/model/us.amazon.nova-lite-v1%3A0/converse-stream')
  verifySignature(request, EXPECTED)
  assert.match(request.body.toString('utf8'), /Grüße 👋/)
  assert.equal(request.headers['x-amz-security-token'], undefined)
})

test('the check of the signature notices a changed body, path, host or key', async () => {
  await call({ api_key: PAIR })
  const [request] = received
  assert.ok(request)
  const changes: [Partial<SignedRequest>, Partial<typeof EXPECTED>][] = [
    [{ body: Buffer.concat([request.body, Buffer.from(' ')]) }, {}],
    [{ path: '/model/other/converse-stream' }, {}],
    [{ headers: { ...request.headers, host: 'example.com' } }, {}],
    [{}, { secretAccessKey: 'other' }],
  ]
  for (const [change, key] of changes) {
    assert.throws(() => verifySignature({ ...request, ...change }, { ...EXPECTED, ...key }))
  }
})

test('a session token goes with the signature, and is signed', async () => {
  await call({ api_key: `${PAIR}:session/token==` }, { ...REQUEST, stream: false }).catch(() => undefined)
  const [request] = received
  assert.ok(request)
  assert.equal(request.headers['x-amz-security-token'], 'session/token==')
  verifySignature(request, EXPECTED)
  assert.match(request.headers['authorization'] ?? '', /x-amz-security-token/)
})

test('a resource name as the model is signed as it is sent', async () => {
  const arn = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a b'
  await call({ api_key: PAIR }, REQUEST, arn)
  const [request] = received
  assert.ok(request)
  assert.equal(request.path, `/model/${encodeURIComponent(arn)}/converse-stream`)
  verifySignature(request, EXPECTED)
})

test('a key without a colon is a bearer token', async () => {
  await call({ api_key: 'ABSKexample==' })
  assert.equal(received[0]?.headers['authorization'], 'Bearer ABSKexample==')
})

test("without a key the machine's own credentials sign", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-aws-'))
  const file = join(folder, 'credentials')
  writeFileSync(
    file,
    `[turnpike]\naws_access_key_id = ${KEY.accessKeyId}\naws_secret_access_key = ${KEY.secretAccessKey}\n`,
  )
  const settings = {
    AWS_SHARED_CREDENTIALS_FILE: file,
    AWS_CONFIG_FILE: join(folder, 'config'),
    AWS_PROFILE: 'turnpike',
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
  }
  const before = Object.fromEntries(Object.keys(settings).map((name) => [name, process.env[name]]))
  setEnvironment(settings)
  try {
    await call({})
    const [request] = received
    assert.ok(request)
    verifySignature(request, EXPECTED)
  } finally {
    setEnvironment(before)
    rmSync(folder, { recursive: true })
  }
})

test('without any credential nothing is sent, and the failure is about credentials', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-aws-'))
  const settings = {
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'none'),
    AWS_CONFIG_FILE: join(folder, 'none'),
    AWS_PROFILE: 'turnpike',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
  }
  const before = Object.fromEntries(Object.keys(settings).map((name) => [name, process.env[name]]))
  setEnvironment(settings)
  try {
    await assert.rejects(call({}), (error) => error instanceof ProviderError && error.failure.kind === 'credentials')
    assert.deepEqual(received, [])
  } finally {
    setEnvironment(before)
    rmSync(folder, { recursive: true })
  }
})

function setEnvironment(values: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

test('an exception as the first event is an error before anything is told', async () => {
  answer.body = awsStream([{ throttlingException: { message: 'Slow down.' } }])
  await assert.rejects(call({ api_key: 'k' }), (error) => {
    assert.ok(error instanceof ProviderError)
    assert.deepEqual(error.failure, { kind: 'rate_limited', message: 'Slow down.', status: 429 })
    return true
  })
})

test('a damaged frame breaks the answer off', async () => {
  const body = awsStream(EVENTS)
  body[body.length - 1] = (body[body.length - 1] ?? 0) ^ 1
  answer.body = body
  await assert.rejects(
    call({ api_key: 'k' }),
    (error) => error instanceof ProviderError && /checksum/.test(error.message),
  )
})

test('an error answer is known by its header', async () => {
  const headers = { 'content-type': 'application/json', 'x-amzn-errortype': 'AccessDeniedException:http://x/' }
  answer = { status: 403, headers, body: Buffer.from('{"message":"You do not have access."}') }
  await assert.rejects(
    call({ api_key: 'k' }),
    (error) => error instanceof ProviderError && error.failure.kind === 'credentials',
  )
})

test('the address is made of the region', () => {
  const baseUrlOf = (config: Partial<ProviderConfig>) => resolveProvider('bedrock', { ...CONFIG, ...config }).baseUrl
  assert.equal(baseUrlOf({ region: 'us-east-1' }), 'https://bedrock-runtime.us-east-1.amazonaws.com')
  assert.equal(baseUrlOf({ region: 'us-gov-west-1' }), 'https://bedrock-runtime.us-gov-west-1.amazonaws.com')
  assert.equal(baseUrlOf({ region: 'cn-north-1' }), 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn')
  const own = 'https://vpce-1.bedrock-runtime.ap-south-1.vpce.amazonaws.com'
  assert.equal(baseUrlOf({ base_url: own }), own)
})

test('a missing or strange region is said', () => {
  assert.throws(() => resolveProvider('bedrock', CONFIG), /needs a region/)
  assert.throws(() => resolveProvider('bedrock', { ...CONFIG, region: 'x.evil.example/' }), /is no region/)
})

test('the protocol makes any name a host of it', () => {
  const config = { ...CONFIG, protocol: 'bedrock', region: 'us-east-1' }
  assert.equal(resolveProvider('aws', config).baseUrl, 'https://bedrock-runtime.us-east-1.amazonaws.com')
})
