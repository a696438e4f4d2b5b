import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import {
  type ApiSample,
  apiCurl,
  embeddingSamples,
  messageSamples,
  rerankSamples,
  responseSamples,
} from './api-samples.ts'

const ORIGIN = 'http://localhost:7575'
const NAMES = ['gpt-5.2', 'it\'s "quoted" $(id) `id` \\', '"""\'\'\'', '\u2028\u202e</script>', '\u0024{1}\n%s']
const SHELL = 'curl() { for word in "$@"; do printf "%s\\0" "$word"; done; }\n'

function sentByShell({ code }: ApiSample): readonly [url: string, key: string, body: unknown] {
  const env = { ...process.env, TURNPIKE_API_KEY: 'tp_1' }
  const { status, stdout, stderr } = spawnSync('sh', ['-c', SHELL + code], { encoding: 'utf8', env })
  assert.equal(status, 0, stderr)
  const [url = '', , key = '', , , , body = ''] = stdout.split('\0')
  return [url, key, JSON.parse(body)]
}

function sampleOf(samples: readonly ApiSample[], id: string): ApiSample {
  return samples.find((sample) => sample.id === id) ?? assert.fail(id)
}

test('curl asks for an event stream where the request was one', () => {
  for (const api of ['messages', 'responses', 'completions'] as const) {
    const code = apiCurl(api, { origin: ORIGIN, model: 'm1', stream: true })
    assert.match(code, /^curl --no-buffer /)
    const [url, , body] = sentByShell({ id: api, label: api, code: code.replace('--no-buffer ', '') })
    assert.deepEqual([url, (body as { stream: boolean }).stream], [`${ORIGIN}/v1/${api}`, true])
  }
})

test('a shell gives curl the request of each API, whatever the model is called', () => {
  for (const model of NAMES) {
    const input = { origin: ORIGIN, model }
    assert.deepEqual(sentByShell(sampleOf(messageSamples(input), 'messages-curl')), [
      `${ORIGIN}/v1/messages`,
      'x-api-key: tp_1',
      { model, max_tokens: 1000, messages: [{ role: 'user', content: 'Say hello.' }] },
    ])
    const bearer = 'Authorization: Bearer tp_1'
    const response = sentByShell(sampleOf(responseSamples(input), 'responses-curl'))
    assert.deepEqual(response, [`${ORIGIN}/v1/responses`, bearer, { model, input: 'Say hello.' }])
    const embedding = sentByShell(sampleOf(embeddingSamples(input), 'curl'))
    assert.deepEqual(embedding, [`${ORIGIN}/v1/embeddings`, bearer, { model, input: ['Say hello.'] }])
    const [url, key, body] = sentByShell(sampleOf(rerankSamples(input), 'curl'))
    assert.deepEqual([url, key, (body as { model: string }).model], [`${ORIGIN}/v1/rerank`, bearer, model])
  }
})

test('the programs are valid TypeScript, and name the model in a string', () => {
  for (const model of NAMES) {
    const input = { origin: ORIGIN, model }
    for (const sample of [
      sampleOf(messageSamples(input), 'messages-typescript'),
      sampleOf(responseSamples(input), 'responses-typescript'),
      sampleOf(embeddingSamples(input), 'typescript'),
    ]) {
      stripTypeScriptTypes(sample.code)
      const [, text = ''] = /model: (".*"),\n/.exec(sample.code) ?? assert.fail(sample.code)
      assert.equal(JSON.parse(text), model)
    }
  }
})
