/** Requests of the APIs beside chat completions as programs that can be pasted and run, like those of `code-samples.ts`. */
import { type Json, jsonText, KEY_VARIABLE, pythonText, shellWord, typescriptText } from './code-samples.ts'

export interface ApiSampleInput {
  /** Of the gateway, without `/v1`. */
  readonly origin: string
  readonly model: string
  /** Whether a `curl` asks for an event stream. */
  readonly stream?: boolean
}

export interface ApiSample {
  readonly id: string
  readonly label: string
  readonly code: string
}

/** The APIs beside chat completions. */
export type OtherApi = 'messages' | 'responses' | 'completions' | 'embeddings' | 'rerank'

/** Where each is, and the smallest request beside its model. */
const CALLS: Readonly<Record<OtherApi, readonly [path: string, fields: { readonly [name: string]: Json }]>> = {
  messages: ['/v1/messages', { max_tokens: 1000, messages: [{ role: 'user', content: 'Say hello.' }] }],
  responses: ['/v1/responses', { input: 'Say hello.' }],
  completions: ['/v1/completions', { prompt: 'Say hello.' }],
  embeddings: ['/v1/embeddings', { input: ['Say hello.'] }],
  rerank: ['/v1/rerank', { query: 'A greeting', documents: ['Say hello.', 'The sky is blue.'] }],
}

/** A request of an API for a POSIX shell with curl. */
export function apiCurl(api: OtherApi, { origin, model, stream }: ApiSampleInput): string {
  const [path, fields] = CALLS[api]
  const keyHeader = api === 'messages' ? 'x-api-key: ' : 'Authorization: Bearer '
  return [
    `curl ${stream === true ? '--no-buffer ' : ''}${shellWord(origin + path)}`,
    `-H "${keyHeader}$${KEY_VARIABLE}"`,
    "-H 'Content-Type: application/json'",
    `--data-raw ${shellWord(jsonText({ model, ...fields, ...(stream === true && { stream }) }))}`,
  ].join(' \\\n  ')
}

/** For models that chat: Anthropic's Messages API. */
export function messageSamples({ origin, model }: ApiSampleInput): readonly ApiSample[] {
  const python = `import os

from anthropic import Anthropic

client = Anthropic(
    base_url=${pythonText(origin)},
    api_key=os.environ["${KEY_VARIABLE}"],
)

message = client.messages.create(
    model=${pythonText(model)},
    max_tokens=1000,
    messages=[{"role": "user", "content": "Say hello."}],
)
print(message.content)
`
  const typescript = `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: ${typescriptText(origin)},
  apiKey: process.env['${KEY_VARIABLE}'],
})

const message = await client.messages.create({
  model: ${typescriptText(model)},
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'Say hello.' }],
})
console.log(message.content)
`
  return [
    { id: 'messages-curl', label: 'Messages: curl', code: apiCurl('messages', { origin, model }) },
    { id: 'messages-python', label: 'Messages: Python', code: python },
    { id: 'messages-typescript', label: 'Messages: TS', code: typescript },
  ]
}

/** For models that chat: OpenAI's Responses API. */
export function responseSamples({ origin, model }: ApiSampleInput): readonly ApiSample[] {
  const python = `import os

from openai import OpenAI

client = OpenAI(
    base_url=${pythonText(`${origin}/v1`)},
    api_key=os.environ["${KEY_VARIABLE}"],
)

response = client.responses.create(
    model=${pythonText(model)},
    input="Say hello.",
)
print(response.output_text)
`
  const typescript = `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${typescriptText(`${origin}/v1`)},
  apiKey: process.env['${KEY_VARIABLE}'],
})

const response = await client.responses.create({
  model: ${typescriptText(model)},
  input: 'Say hello.',
})
console.log(response.output_text)
`
  return [
    { id: 'responses-curl', label: 'Responses: curl', code: apiCurl('responses', { origin, model }) },
    { id: 'responses-python', label: 'Responses: Python', code: python },
    { id: 'responses-typescript', label: 'Responses: TS', code: typescript },
  ]
}

export function embeddingSamples({ origin, model }: ApiSampleInput): readonly ApiSample[] {
  const python = `import os

from openai import OpenAI

client = OpenAI(
    base_url=${pythonText(`${origin}/v1`)},
    api_key=os.environ["${KEY_VARIABLE}"],
)

embeddings = client.embeddings.create(
    model=${pythonText(model)},
    input=["Say hello."],
)
print(embeddings.data[0].embedding)
`
  const typescript = `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${typescriptText(`${origin}/v1`)},
  apiKey: process.env['${KEY_VARIABLE}'],
})

const embeddings = await client.embeddings.create({
  model: ${typescriptText(model)},
  input: ['Say hello.'],
})
console.log(embeddings.data[0]?.embedding)
`
  return [
    { id: 'curl', label: 'curl', code: apiCurl('embeddings', { origin, model }) },
    { id: 'python', label: 'Python', code: python },
    { id: 'typescript', label: 'TypeScript', code: typescript },
  ]
}

export function rerankSamples({ origin, model }: ApiSampleInput): readonly ApiSample[] {
  return [{ id: 'curl', label: 'curl', code: apiCurl('rerank', { origin, model }) }]
}
