/**
 * A chat request as a program that can be pasted and run: for a POSIX shell with curl, and for OpenAI's own libraries. The
 * text of the request comes from people and models, so that nothing in it may end a string of the language around it.
 */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
export type JsonFields = { readonly [name: string]: Json | undefined }

export interface ChatSampleInput {
  /** With or without `/v1` behind it. */
  readonly baseUrl: string
  readonly model: string
  /** Without one, the programs read `TURNPIKE_API_KEY` from their environment. */
  readonly key?: string | undefined
  /** As they go over the wire. */
  readonly messages: readonly Json[]
  /** Beside model, messages and stream; what is undefined is left out. */
  readonly parameters?: JsonFields | undefined
  readonly stream?: boolean | undefined
  /** ID of the team that the request is of. Undefined or empty: none. */
  readonly team?: string | undefined
}

export interface ChatSamples {
  readonly curl: string
  readonly python: string
  readonly typescript: string
}

/** The variable from which programs without a key read it. */
export const KEY_VARIABLE = 'TURNPIKE_API_KEY'

export function chatSamples(input: ChatSampleInput): ChatSamples {
  const request: SampleRequest = {
    root: `${input.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`,
    key: input.key === '' ? undefined : input.key,
    body: chatBody(input),
    isStream: input.stream === true,
    team: input.team === '' ? undefined : input.team,
  }
  return { curl: curlSample(request), python: pythonSample(request), typescript: typescriptSample(request) }
}

interface SampleRequest {
  readonly root: string
  readonly key: string | undefined
  readonly body: ReadonlyMap<string, Json>
  readonly isStream: boolean
  readonly team: string | undefined
}

const TEAM_HEADER = 'x-turnpike-team'

/** A map, because a field may be called `__proto__`. */
function chatBody({ model, messages, parameters = {}, stream }: ChatSampleInput): ReadonlyMap<string, Json> {
  const body = new Map<string, Json>([
    ['model', model],
    ['messages', messages],
  ])
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && name !== 'stream' && !body.has(name)) body.set(name, value)
  if (stream === true) body.set('stream', true)
  return body
}

function curlSample({ root, key, body, isStream, team }: SampleRequest): string {
  const authorization =
    key === undefined ? `"Authorization: Bearer $${KEY_VARIABLE}"` : shellWord(`Authorization: Bearer ${key}`)
  const json = `{\n${[...body].map(([name, value]) => `  ${jsonText(name)}: ${jsonText(value, '  ')}`).join(',\n')}\n}`
  return [
    `curl ${isStream ? '--no-buffer ' : ''}${shellWord(`${root}/chat/completions`)}`,
    `-H ${authorization}`,
    "-H 'Content-Type: application/json'",
    ...(team === undefined ? [] : [`-H ${shellWord(`${TEAM_HEADER}: ${team}`)}`]),
    `--data-raw ${shellWord(json)}`,
  ].join(' \\\n  ')
}

/** One word of a POSIX shell, whatever is in it. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Names that `create()` of the libraries takes; Python sends others through its `extra_body`. */
const LIBRARY_PARAMETERS = new Set([
  'model',
  'messages',
  'audio',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'metadata',
  'modalities',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'reasoning_effort',
  'response_format',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
  'verbosity',
])

function pythonSample({ root, key, body, isStream, team }: SampleRequest): string {
  const known = [...body].filter(([name]) => LIBRARY_PARAMETERS.has(name))
  const others = [...body].filter(([name]) => !LIBRARY_PARAMETERS.has(name))
  const given = known.map(([name, value]) => `    ${name}=${pythonText(value, '    ')},\n`)
  const extra = others.length === 0 ? '' : `    extra_body=${pythonText(new Map(others), '    ')},\n`
  return `${key === undefined ? 'import os\n\n' : ''}from openai import OpenAI

client = OpenAI(
    base_url=${pythonText(root)},
    api_key=${key === undefined ? `os.environ["${KEY_VARIABLE}"]` : pythonText(key)},
${team === undefined ? '' : `    default_headers=${pythonText({ [TEAM_HEADER]: team }, '    ')},\n`})

${isStream ? 'stream' : 'completion'} = client.chat.completions.create(
${given.join('')}${extra})
${isStream ? PYTHON_STREAM : pythonAnswer(body)}
`
}

const PYTHON_STREAM = `for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()`

/** With tools, the answer may be calls instead of text. */
function pythonAnswer(body: ReadonlyMap<string, Json>): string {
  return `print(completion.choices[0].message${body.has('tools') ? '.model_dump_json(indent=2)' : '.content'})`
}

/** What the library's types do not know is spread, which they let through. */
function typescriptSample({ root, key, body, isStream, team }: SampleRequest): string {
  const known = [...body].filter(([name]) => LIBRARY_PARAMETERS.has(name))
  const others = [...body].filter(([name]) => !LIBRARY_PARAMETERS.has(name))
  const given = known.map(([name, value]) => `  ${name}: ${typescriptText(value, '  ')},\n`)
  const extra = others.length === 0 ? '' : `const extra: object = ${typescriptText(new Map(others))}\n`
  return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${typescriptText(root)},
  apiKey: ${key === undefined ? `process.env['${KEY_VARIABLE}']` : typescriptText(key)},
${team === undefined ? '' : `  defaultHeaders: ${typescriptText({ [TEAM_HEADER]: team }, '  ')},\n`}})

${extra}const ${isStream ? 'stream' : 'completion'} = await client.chat.completions.create({
${given.join('')}${extra === '' ? '' : '  ...extra,\n'}})
${isStream ? TYPESCRIPT_STREAM : typescriptAnswer(body)}
`
}

const TYPESCRIPT_STREAM = `for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
console.log()`

function typescriptAnswer(body: ReadonlyMap<string, Json>): string {
  return `console.log(completion.choices[0]?.message${body.has('tools') ? '' : '.content'})`
}

export function jsonText(value: Json, indent = ''): string {
  return visible(JSON.stringify(value, null, 2)).replaceAll('\n', `\n${indent}`)
}

type Value = Json | ReadonlyMap<string, Json>

interface Language {
  readonly indent: string
  readonly atoms: Readonly<Record<'true' | 'false' | 'null', string>>
  readonly field: (name: string) => string
}

const PYTHON: Language = {
  indent: '    ',
  atoms: { true: 'True', false: 'False', null: 'None' },
  field: quoted,
}

const TYPESCRIPT: Language = {
  indent: '  ',
  atoms: { true: 'true', false: 'false', null: 'null' },
  // In an object literal, `__proto__` would be the prototype unless its name is computed.
  field: (name) => (name === '__proto__' ? '["__proto__"]' : /^[a-z_][\w]*$/i.test(name) ? name : quoted(name)),
}

/** @param indent Of the line on which the value begins. */
export function pythonText(value: Value, indent = ''): string {
  return render(value, PYTHON, indent)
}

/** @param indent Of the line on which the value begins. */
export function typescriptText(value: Value, indent = ''): string {
  return render(value, TYPESCRIPT, indent)
}

function render(value: Value, language: Language, indent: string): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return JSON.stringify(value) === 'null' ? language.atoms.null : JSON.stringify(value)
  if (value === null) return language.atoms.null
  if (typeof value === 'boolean') return language.atoms[value ? 'true' : 'false']
  const inner = indent + language.indent
  const items = isList(value)
    ? value.map((item) => render(item, language, inner))
    : fieldsOf(value).map(([name, item]) => `${language.field(name)}: ${render(item, language, inner)}`)
  const [open, close] = isList(value) ? '[]' : '{}'
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}

function fieldsOf(
  value: { readonly [name: string]: Json } | ReadonlyMap<string, Json>,
): readonly (readonly [string, Json])[] {
  return value instanceof Map ? [...value] : Object.entries(value)
}

/** In double quotes, as JSON, which JavaScript and Python read alike. */
function quoted(text: string): string {
  return visible(JSON.stringify(text))
}

/** Control characters, marks that turn the direction of text, invisible spaces and separators. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** JSON text with escapes for what is not seen, and for what would read otherwise than it looks. */
function visible(json: string): string {
  return json.replaceAll(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
