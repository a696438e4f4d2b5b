/**
 * Embeddings at hosts with a format of their own, through the official SDK: what they are sent, and what comes back.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { model, startGateway } from '../support/gateway.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const FLOATS = [0.25, -0, 1 / 3].map(Math.fround)
const BASE64 = Buffer.from(Float32Array.from(FLOATS).buffer).toString('base64')
const PRICE = { input_per_million: 0.1, output_per_million: 0 }

interface Host {
  /** Of the configuration, beside `base_url`. */
  readonly settings: object
  readonly baseUrl?: string
  readonly model: string
  readonly path: string
  /** Of the inputs `a` and `b`, with the field `field`. */
  readonly body: object
  readonly field?: Readonly<Record<string, unknown>>
  /** JSON text, with `VECTOR` in place of numbers. */
  readonly answer: string
  /** As the host reports; where it reports none, as the gateway counts for its tokenizer. */
  readonly tokens: number
  readonly inputs?: readonly string[]
}

const AB = ['a', 'b'] as const
const GEMINI = { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 3 }

const HOSTS: Record<string, Host> = {
  cohere: {
    settings: {},
    model: 'embed-v4.0',
    path: '/v2/embed',
    field: { input_type: 'search_query' },
    body: {
      input_type: 'search_query',
      model: 'embed-v4.0',
      texts: AB,
      embedding_types: ['float'],
      output_dimension: 3,
    },
    answer: '{"id":"x","embeddings":{"float":[VECTOR,VECTOR]},"meta":{"billed_units":{"input_tokens":5}}}',
    tokens: 5,
  },
  voyage: {
    settings: {},
    baseUrl: '/v1',
    model: 'voyage-3.5',
    path: '/v1/embeddings',
    field: { input_type: 'query' },
    body: { input_type: 'query', model: 'voyage-3.5', input: AB, output_dimension: 3, encoding_format: 'base64' },
    answer: `{"data":[{"index":0,"embedding":"${BASE64}"},{"index":1,"embedding":"${BASE64}"}],"usage":{"total_tokens":6}}`,
    tokens: 6,
  },
  jina: {
    settings: {},
    baseUrl: '/v1',
    model: 'jina-embeddings-v3',
    path: '/v1/embeddings',
    field: { task: 'retrieval.query' },
    body: { task: 'retrieval.query', model: 'jina-embeddings-v3', input: AB, dimensions: 3 },
    answer:
      '{"data":[{"index":0,"embedding":VECTOR},{"index":1,"embedding":VECTOR}],"usage":{"prompt_tokens":7,"total_tokens":7}}',
    tokens: 7,
  },
  google: {
    settings: {},
    model: 'gemini-embedding-001',
    path: '/v1beta/models/gemini-embedding-001:batchEmbedContents',
    field: { task_type: 'RETRIEVAL_QUERY' },
    body: {
      requests: AB.map((text) => ({
        model: 'models/gemini-embedding-001',
        content: { parts: [{ text }] },
        ...GEMINI,
      })),
    },
    answer: '{"embeddings":[{"values":VECTOR},{"values":VECTOR}]}',
    tokens: 3,
  },
  vertex: {
    settings: {},
    baseUrl: '/v1/projects/p/locations/r',
    model: 'text-embedding-005',
    path: '/v1/projects/p/locations/r/publishers/google/models/text-embedding-005:predict',
    field: { task_type: 'RETRIEVAL_QUERY' },
    body: {
      instances: AB.map((content) => ({ content, task_type: 'RETRIEVAL_QUERY' })),
      parameters: { outputDimensionality: 3 },
    },
    answer:
      '{"predictions":[{"embeddings":{"values":VECTOR,"statistics":{"token_count":1}}},{"embeddings":{"values":VECTOR,"statistics":{"token_count":2}}}]}',
    tokens: 3,
  },
  titan: {
    settings: { kind: 'bedrock', region: 'us-east-1' },
    model: 'amazon.titan-embed-text-v2:0',
    path: '/model/amazon.titan-embed-text-v2%3A0/invoke',
    inputs: ['a'],
    field: { normalize: false },
    body: { inputText: 'a', dimensions: 3, normalize: false },
    answer: '{"embedding":VECTOR,"inputTextTokenCount":4}',
    tokens: 4,
  },
  'bedrock-cohere': {
    settings: { kind: 'bedrock', region: 'us-east-1' },
    model: 'eu.cohere.embed-v4:0',
    path: '/model/eu.cohere.embed-v4%3A0/invoke',
    body: { texts: AB, input_type: 'search_document', output_dimension: 3 },
    answer: '{"embeddings":{"float":[VECTOR,VECTOR]},"response_type":"embeddings_by_type"}',
    tokens: 2,
  },
}

const LIST = `{"data":[{"index":1,"embedding":VECTOR},{"index":0,"embedding":VECTOR}],"usage":{"prompt_tokens":8,"total_tokens":8}}`
/** Hosts of OpenAI's format: whether they know dimensions and encodings. */
const COMPATIBLE: Readonly<Record<string, object>> = {
  openai: { dimensions: 3, encoding_format: 'base64' },
  ollama: { dimensions: 3, encoding_format: 'base64' },
  vllm: { dimensions: 3, encoding_format: 'base64' },
  mistral: { output_dimension: 3, encoding_format: 'base64' },
  fireworks: { dimensions: 3 },
  together: {},
}
for (const [name, fields] of Object.entries(COMPATIBLE)) {
  HOSTS[name] = {
    settings: {},
    baseUrl: `/${name}/v1`,
    model: `${name}-embed`,
    path: `/${name}/v1/embeddings`,
    body: { model: `${name}-embed`, input: AB, ...fields },
    answer: LIST,
    tokens: 8,
  }
}

const provider = await startFakeProvider((_, reply) => reply.end())
const names = Object.entries(HOSTS)
const gateway = await startGateway({
  config: {
    providers: Object.fromEntries(
      names.map(([name, { settings, baseUrl = '' }]) => [
        name,
        { ...settings, base_url: `${provider.url}${baseUrl}`, api_key: 'k' },
      ]),
    ),
    models: names.map(([name, host]) => ({
      ...model(name, name, host.model),
      kind: 'embedding',
      capabilities: undefined,
      max_output_tokens: undefined,
      pricing: PRICE,
    })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1 },
  },
})
const client = new OpenAI({ apiKey: await gateway.key(), baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

for (const [name, host] of names) {
  test(`${name}: the host receives its own format, and the client receives the vectors bit for bit`, async () => {
    provider.answer((_, reply) => {
      reply.head(200, { 'content-type': 'application/json' })
      reply.end(host.answer.replaceAll('VECTOR', `[${FLOATS[0]},-0.0,${FLOATS[2]}]`))
    })
    const { inputs = AB, field = {}, tokens } = host
    const { data, usage } = await client.embeddings.create({
      model: name,
      input: [...inputs],
      ...(name === 'together' ? {} : { dimensions: 3 }), // whose models have one size
      ...field,
    })
    assert.equal(data.length, inputs.length)
    for (const { embedding } of data) {
      assert.equal(Buffer.from(Float32Array.from(embedding).buffer).toString('base64'), BASE64)
    }
    const { path, body } = provider.calls.at(-1) ?? assert.fail('no provider was called')
    assert.equal(path, host.path)
    assert.deepEqual(JSON.parse(body), host.body)
    assert.equal(usage.prompt_tokens, tokens)
  })

  test(`${name}: an error of the host is the client's, and the key is not in it`, async () => {
    provider.answer((_, reply) => {
      reply.head(400, { 'content-type': 'application/json' })
      reply.end(JSON.stringify({ message: 'Too many texts.', error: { code: 400, message: 'Too many texts.' } }))
    })
    await assert.rejects(client.embeddings.create({ model: name, input: 'a' }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError, String(error))
      assert.match(error.message, /Too many texts/)
      return true
    })
    const chat = client.chat.completions.create({ model: name, messages: [{ role: 'user', content: 'x' }] })
    await assert.rejects(chat, OpenAI.BadRequestError)
  })
}

test('a model that accepts one text a call rejects several', async () => {
  const before = provider.calls.length
  await assert.rejects(client.embeddings.create({ model: 'titan', input: ['a', 'b'] }), /must have one entry/)
  assert.equal(provider.calls.length, before)
})
