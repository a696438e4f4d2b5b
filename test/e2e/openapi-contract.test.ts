/**
 * The API does what `/openapi.json` says: schemathesis (PyPI) with all checks and all phases, links between operations
 * included, from a fixed seed, and a validator of the document itself. Runs on one database: it is about the wire.
 * `SCHEMATHESIS_SEED`, `SCHEMATHESIS_EXAMPLES` and `SCHEMATHESIS_ALIKE` (cases that differ in their value alone) run it with
 * others.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
import { pythonWith } from '../support/process/python-environment.ts'

const run = promisify(execFile)
const PACKAGES = ['schemathesis==4.32.5', 'openapi-spec-validator==0.9.0']
const FOLDER = join(import.meta.dirname, '../support/schemathesis')
const { SCHEMATHESIS_SEED: SEED = '1', SCHEMATHESIS_EXAMPLES: EXAMPLES = '1' } = process.env
const { PATH, SCHEMATHESIS_ALIKE = '1' } = process.env
/** Of a run; the number of examples bounds its work, this only a process that hangs. */
const TIMEOUT_MS = 1_080_000

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly responses: Readonly<Record<string, { readonly description: string; readonly links?: object }>>
}

const gateway = await startGateway({
  config: {
    server: { trust_proxy: ['127.0.0.1'] },
    webhooks: { allow_private_networks: true },
    responses: { store: true },
    plans: { test: { billing: 'postpaid', requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000 } },
    accounts: { default_plan: 'test' },
  },
})
const key = await gateway.key('--operator')
const authorization = `Bearer ${key}`
const folder = await mkdtemp(join(tmpdir(), 'turnpike-openapi-'))
const python = await pythonWith(PACKAGES)
after(async () => {
  await gateway.stop()
  await rm(folder, { recursive: true, force: true })
})

const { text } = await send(gateway, '/openapi.json')
const { paths } = JSON.parse(text) as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
const operations = Object.values(paths).flatMap((path) => Object.values(path))

test('the description is valid OpenAPI 3.1', async () => {
  const file = join(folder, 'openapi.json')
  await writeFile(file, text)
  await run(python, ['-m', 'openapi_spec_validator', '--schema', '3.1', file], { timeout: TIMEOUT_MS })
})

test('every operation has a unique ID, a summary, tags and described errors', () => {
  const ids = operations.map(({ operationId }) => operationId)
  assert.equal(new Set(ids).size, ids.length)
  for (const { operationId = '', summary, tags, responses } of operations) {
    assert.ok(operationId && summary && tags?.length, operationId)
    if (operationId !== 'getHealthz') assert.match(Object.keys(responses).join(), /4XX|5XX|503/, operationId)
    for (const { description } of Object.values(responses)) assert.notEqual(description, 'Default Response')
  }
})

test('links lead from operations that create and list to those that accept an ID', () => {
  const links = operations.flatMap(({ responses }) => Object.values(responses).map(({ links }) => links ?? {}))
  const targets = new Set(links.flatMap((each) => Object.keys(each)))
  for (const [path, methods] of Object.entries(paths)) {
    if (!path.includes('{') || methods['get'] === undefined) continue
    assert.ok(targets.has(methods['get'].operationId ?? '') || path.startsWith('/v1/usage/completions/{id}'), path)
  }
})

for (const path of ['/v1/events/stream', '/v1/usage/completions/stream']) {
  test(`${path}, which has no end, answers with an event stream, and with documented errors`, async () => {
    const abort = new AbortController()
    const stream = await fetch(gateway.url + path, { headers: { authorization }, signal: abort.signal })
    assert.equal(stream.status, 200)
    assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/)
    abort.abort()
    assert.equal((await send(gateway, path)).status, 401)
    const wrong = await fetch(gateway.url + path, { headers: { authorization, 'last-event-id': 'none' } })
    assert.equal(wrong.status, 400)
  })
}

test('schemathesis finds no answer that the description lacks', async () => {
  const listed = await fetch(`${gateway.url}/v1/keys`, { headers: { authorization } })
  const { data } = (await listed.json()) as { data: readonly { readonly id: string; readonly last4: string }[] }
  const own = data.find(({ last4 }) => key.endsWith(last4))
  assert.ok(own, 'the key of this run is listed')
  const config = ['--config-file', join(FOLDER, 'schemathesis.toml')]
  const bounds = ['--seed', SEED, '--max-examples', EXAMPLES, '--warnings', 'off']
  const target = [`${gateway.url}/openapi.json`, '--header', `Authorization: ${authorization}`]
  const options = ['-m', 'schemathesis.cli', ...config, 'run', ...target, '--checks', 'all', ...bounds]
  const env = {
    PATH, // of what surrounds this process nothing else: each request would read it all
    HOME: folder,
    SCHEMATHESIS_ALIKE,
    GATEWAY_KEY_ID: own.id,
    PYTHONPATH: FOLDER,
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONPYCACHEPREFIX: join(dirname(python), '..', 'bytecode'), // of the hooks, too, which are in this checkout
    HYPOTHESIS_STORAGE_DIRECTORY: join(dirname(python), '..', 'hypothesis'), // tables of Unicode, computed once
  }
  const { stdout } = await run(python, options, { cwd: folder, env, timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 }).catch(
    ({ message, stdout = '' }: Error & { stdout?: string }) => assert.fail(`${message}\n${failures(stdout)}`),
  )
  const [, generated = '0'] = /(\d+) generated/.exec(stdout) ?? []
  assert.ok(Number(generated) >= 2000, stdout.slice(-2000))
  assert.match(stdout, /✅ Stateful/, 'links were followed')
  console.log(`schemathesis: ${/Test cases:\n(.*)/.exec(stdout)?.[1]?.trim()}, seed ${SEED}`)
})

/** What schemathesis prints about failures, with the commands of `curl` that are too long to read cut. */
function failures(stdout: string): string {
  const report = stdout.slice(Math.max(0, stdout.search(/^=+ FAILURES =+$/m)))
  return report
    .replaceAll(/[^\s]{600,}/g, (word) => `${word.slice(0, 200)}…[${word.length} characters]`)
    .slice(-200_000)
}
