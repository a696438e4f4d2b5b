/** Requests of the APIs beside chat completions as programs that can be pasted and run, like those of `code-samples.ts`. */
import { jsonText, KEY_VARIABLE, pythonText, shellWord, typescriptText } from './code-samples.ts'

export interface ApiSampleInput {
  /** Of the gateway, without `/v1`. */
  readonly origin: string
  readonly model: string
}

export interface ApiSample {
  readonly id: string
  readonly label: string
  readonly code: string
}

/** For models that chat: Anthropic's Messages API. */
export function messageSamples({ origin, model }: ApiSampleInput): readonly ApiSample[] {
  const body = { model, max_tokens: 1000, messages: [{ role: 'user', content: 'Say hello.' }] }
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
    { id: 'messages-curl', label: 'Messages: curl', code: curl(`${origin}/v1/messages`, body, 'x-api-key: ') },
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
    {
      id: 'responses-curl',
      label: 'Responses: curl',
      code: curl(`${origin}/v1/responses`, { model, input: 'Say hello.' }),
    },
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
    { id: 'curl', label: 'curl', code: curl(`${origin}/v1/embeddings`, { model, input: ['Say hello.'] }) },
    { id: 'python', label: 'Python', code: python },
    { id: 'typescript', label: 'TypeScript', code: typescript },
  ]
}

export function rerankSamples({ origin, model }: ApiSampleInput): readonly ApiSample[] {
  const body = { model, query: 'A greeting', documents: ['Say hello.', 'The sky is blue.'] }
  return [{ id: 'curl', label: 'curl', code: curl(`${origin}/v1/rerank`, body) }]
}

function curl(url: string, body: Parameters<typeof jsonText>[0], keyHeader = 'Authorization: Bearer '): string {
  return [
    `curl ${shellWord(url)}`,
    `-H "${keyHeader}$${KEY_VARIABLE}"`,
    "-H 'Content-Type: application/json'",
    `--data-raw ${shellWord(jsonText(body))}`,
  ].join(' \\\n  ')
}
