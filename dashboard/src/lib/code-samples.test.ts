import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { HOSTILE_MARKUP } from '../../../test/support/http/hostile-markup.ts'
import { type ChatSampleInput, chatSamples, type Json } from './code-samples.ts'

const ROOT = join(import.meta.dirname, '../../..')
const BASE = 'http://localhost:7575'
const NASTY = [
  '\'"`$(id) \\ !! %s\n\r\n\t',
  '</script>',
  '\u2028\u2029\u202e\u0000\u007f',
  '"""\'\'\'\\',
  '\ud800 \u0024{1}',
  '🎉',
]

interface Sent {
  readonly key: string
  readonly url: string
  readonly body: Json
}

/** What a program is to send. */
function expected({ model, messages, parameters = {}, stream }: ChatSampleInput): Json {
  const body = { ...parameters, model, messages, ...(stream === true && { stream }) }
  return JSON.parse(JSON.stringify(body)) as Json
}

function inputs(): fc.Arbitrary<ChatSampleInput> {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom(...NASTY, ...HOSTILE_MARKUP))
  const json = fc
    .jsonValue({ depthSize: 'small', stringUnit: 'binary' })
    .map((value) => JSON.parse(JSON.stringify(value)) as Json)
  const name = fc.oneof(
    fc.constantFrom('temperature', 'tools', 'stop', 'top_k', 'x-y', '__proto__', 'constructor', 'print'),
    text.filter((each) => !['model', 'messages', 'stream'].includes(each)),
  )
  return fc.record({
    baseUrl: fc.constantFrom(BASE, `${BASE}/`, `${BASE}/v1`, `${BASE}/v1/`),
    model: text,
    key: fc.constantFrom('tp_live_abc', 'it\'s "quoted" $HOME'),
    messages: fc.array(fc.record({ role: fc.constantFrom('system', 'user'), content: text })),
    parameters: fc.dictionary(name, json, { maxKeys: 4, noNullPrototype: false }),
    stream: fc.boolean(),
  })
}

const SHELL = 'curl() { for word in "$@"; do printf "%s\\0" "$word"; done; }\n'

function sentByShell(sample: string, env: NodeJS.ProcessEnv = process.env): Sent {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', SHELL + sample], { encoding: 'utf8', env })
  assert.equal(status, 0, stderr)
  const words = stdout.split('\0').filter((word) => word !== '--no-buffer')
  const [url = '', , authorization = '', , type, option, body = ''] = words
  assert.equal(type, 'Content-Type: application/json')
  assert.equal(option, '--data-raw')
  return { key: authorization.replace('Authorization: Bearer ', ''), url, body: JSON.parse(body) as Json }
}

test('a shell gives curl the same request, whatever it says', () => {
  fc.assert(
    fc.property(inputs(), (input) => {
      const sent = sentByShell(chatSamples(input).curl)
      assert.deepEqual(sent, { key: input.key, url: `${BASE}/v1/chat/completions`, body: expected(input) })
    }),
    { numRuns: 60 },
  )
})

/** A fake of the library: prints its arguments as one line of JSON. */
const PYTHON_HARNESS = `
import io, json, sys, types
class Client:
    def __init__(self, base_url, api_key):
        self.given = (base_url, api_key)
        self.chat = types.SimpleNamespace(completions=self)
    def create(self, model, messages, extra_body={}, **rest):
        body = {"model": model, "messages": messages, **rest, **extra_body}
        out.append({"url": self.given[0] + "/chat/completions", "key": self.given[1], "body": body})
        message = types.SimpleNamespace(content="", model_dump_json=lambda indent: "{}")
        return [] if rest.get("stream") else types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])
sys.modules["openai"] = types.SimpleNamespace(OpenAI=Client)
out = []
shown, sys.stdout = sys.stdout, io.StringIO()
for source in json.load(sys.stdin):
    exec(compile(source, "sample", "exec"), {"__name__": "__main__"})
shown.write(json.dumps(out))
`

test('Python reads the same request', () => {
  const samples = fc.sample(inputs(), 200)
  const { status, stdout, stderr } = spawnSync(findTool('python'), ['-c', PYTHON_HARNESS], {
    encoding: 'utf8',
    input: JSON.stringify(samples.map((input) => chatSamples(input).python)),
    maxBuffer: 64 * 1024 * 1024,
  })
  assert.equal(status, 0, stderr)
  const sent = JSON.parse(stdout) as readonly Sent[]
  assert.equal(sent.length, samples.length)
  for (const [index, input] of samples.entries())
    assert.deepEqual(sent[index], { key: input.key, url: `${BASE}/v1/chat/completions`, body: expected(input) })
})

const AsyncFunction = (async () => undefined).constructor as new (
  ...source: readonly string[]
) => (...values: readonly unknown[]) => Promise<void>

async function sentByTypescript(sample: string): Promise<Sent> {
  let sent: Sent | undefined
  function fakeLibrary({ baseURL, apiKey }: { readonly baseURL: string; readonly apiKey: string }) {
    const create = async (body: { readonly [name: string]: Json }): Promise<unknown> => {
      sent = { key: apiKey, url: `${baseURL}/chat/completions`, body }
      return body['stream'] === true ? [] : { choices: [] }
    }
    return { chat: { completions: { create } } }
  }
  const code = stripTypeScriptTypes(sample.replace(/^import OpenAI .*\n/, ''))
  await new AsyncFunction('OpenAI', 'console', code)(fakeLibrary, { log: () => undefined })
  assert.ok(sent)
  return sent
}

test('JavaScript reads the same request', async () => {
  await fc.assert(
    fc.asyncProperty(inputs(), async (input) => {
      const { key, url, body } = await sentByTypescript(chatSamples(input).typescript)
      assert.deepEqual({ key, url }, { key: input.key, url: `${BASE}/v1/chat/completions` })
      assert.deepEqual(JSON.parse(JSON.stringify(body)), expected(input))
    }),
    { numRuns: 300 },
  )
})

test('nothing in a sample turns the direction of text, hides, or ends a line', () => {
  const messages = [{ role: 'user', content: NASTY.join('') }]
  for (const sample of Object.values(chatSamples({ baseUrl: BASE, model: 'm', messages })))
    assert.doesNotMatch(sample, /[^\n\P{Cc}]|[\u2028-\u202e\u2066-\u2069\ufeff]/u)
})

test('without a key, programs read it from the environment', () => {
  const { curl, python, typescript } = chatSamples({ baseUrl: BASE, model: 'm', key: '', messages: [] })
  assert.equal(sentByShell(curl, { ...process.env, TURNPIKE_API_KEY: 'tp_env' }).key, 'tp_env')
  assert.match(python, /^import os\n[\s\S]*api_key=os\.environ\["TURNPIKE_API_KEY"\]/)
  assert.match(typescript, /apiKey: process\.env\['TURNPIKE_API_KEY'\]/)
})

test('a request of a team has its header, and no other has one', () => {
  const input = { baseUrl: BASE, model: 'm', messages: [] }
  const { curl, python, typescript } = chatSamples({ ...input, team: "team_'1" })
  assert.ok(curl.includes(`-H 'x-turnpike-team: team_'\\''1'`), curl)
  assert.match(python, /default_headers=\{\s*"x-turnpike-team": "team_'1"/)
  assert.match(typescript, /defaultHeaders: \{\s*'?"?x-turnpike-team'?"?: /)
  for (const sample of Object.values(chatSamples({ ...input, team: '' })))
    assert.doesNotMatch(sample, /x-turnpike-team/)
})

test('parameters cannot take the place of model, messages and stream', () => {
  const parameters = { model: 'other', messages: [], stream: true, temperature: 1, seed: undefined }
  const { body } = sentByShell(chatSamples({ baseUrl: BASE, model: 'm', messages: ['hi'], parameters }).curl)
  assert.deepEqual(body, { model: 'm', messages: ['hi'], temperature: 1 })
})

test("the program runs with OpenAI's library, streaming and whole", { timeout: 300_000 }, async () => {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => {
      const isStream = (JSON.parse(text) as { stream?: boolean }).stream === true
      const choice = {
        index: 0,
        finish_reason: 'stop',
        [isStream ? 'delta' : 'message']: {
          role: 'assistant',
          content: `${request.url} ${request.headers.authorization}`,
        },
      }
      const object = isStream ? 'chat.completion.chunk' : 'chat.completion'
      const json = JSON.stringify({ id: 'c', object, created: 1, model: 'm', choices: [choice] })
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
      response.end(isStream ? `data: ${json}\n\ndata: [DONE]\n\n` : json)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    for (const stream of [true, false]) {
      const messages = [{ role: 'user', content: 'hi' }]
      const { typescript } = chatSamples({
        baseUrl,
        model: 'm',
        key: 'tp_1',
        messages,
        parameters: { top_k: 3 },
        stream,
      })
      assert.equal(await printedBy(typescript), '/v1/chat/completions Bearer tp_1\n')
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

async function printedBy(typescript: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', typescript], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (piece) => {
    printed += piece
  })
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
  return printed
}
