/** The texts that `npm run new:provider` writes: a host's file, its test, and its entry in the registry. */

export interface NewProvider {
  /** Also the names of its files. */
  readonly id: string
  /** Shown in the documentation. */
  readonly name: string
  /** Undefined: the operator must give one. */
  readonly baseUrl: string | undefined
  /** Undefined: the host has no keys. */
  readonly apiKeyVariable: string | undefined
  readonly source: { readonly url: string; readonly read: string }
}

const ID = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
const MAX_ID_LENGTH = 40
/** As the generated files import them. Constants, so that tools which move files do not rewrite the templates. */
const PROVIDER_MODULE = './provider.ts'
const REGISTRY_MODULE = './index.ts'
const PROTOCOL_MODULE = '../protocols/openai-chat/index.ts'
/** Files of `src/providers/` that are no host, and reserved words of the language. */
const RESERVED = new Set(
  `provider index openai-compatible constructor break case catch class const continue debugger default delete do else
  enum export extends false finally for function if import in instanceof new null return super switch this throw true
  try typeof var void while with let static yield await implements interface package private protected public
  arguments eval async of`.split(/\s+/),
)

/** @returns why a host cannot have this id; undefined when it can. */
export function idProblem(id: string): string | undefined {
  if (!ID.test(id))
    return `'${id}' is not a valid ID: use lower-case letters and digits, in words joined by single hyphens.`
  if (id.length > MAX_ID_LENGTH) return `ID exceeds ${MAX_ID_LENGTH} characters.`
  return RESERVED.has(id) ? `'${id}' is reserved; choose another name.` : undefined
}

/** `my-host` → `myHost`, or `myHostProvider` where the registry's file uses that word for something else. */
export function identifierOf(id: string, registry: string): string {
  const name = id.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  return new RegExp(`\\b${name}\\b`).test(registry) ? `${name}Provider` : name
}

/** `my-host` → `MY_HOST_API_KEY`. */
export function variableOf(id: string): string {
  return `${id.toUpperCase().replaceAll('-', '_')}_API_KEY`
}

export function providerFile({ id, name, baseUrl, apiKeyVariable, source }: NewProvider, identifier: string): string {
  return `import { openaiChat } from '${PROTOCOL_MODULE}'
import { bearer, type Provider } from '${PROVIDER_MODULE}'

export const ${identifier}: Provider = {
  id: ${quoted(id)},
  name: ${quoted(name)},
${baseUrl === undefined ? '' : `  baseUrl: ${quoted(baseUrl)},\n`}${
  apiKeyVariable === undefined ? '' : `  apiKeyVariable: ${quoted(apiKeyVariable)},\n`
}  protocol: openaiChat({ forwards: { fields: [] } }),
  authorize: bearer,
  source: { url: ${quoted(source.url)}, read: ${quoted(source.read)} },
}
`
}

export function providerTest({ id, baseUrl, apiKeyVariable }: NewProvider, identifier: string): string {
  const address = baseUrl ?? 'https://host.example/v1'
  return `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveProvider } from '${REGISTRY_MODULE}'
import { ${identifier} } from './${id}.ts'

test('${id} is known by name, at its address, with its variable', () => {
  const { provider, baseUrl } = resolveProvider('${id}', {
${baseUrl === undefined ? `    base_url: ${quoted(address)},\n` : ''}    timeout_ms: { connect: 1, idle: 1, total: 1 },
    on_disconnect: 'cancel',
  })
  assert.equal(provider, ${identifier})
  assert.equal(baseUrl, ${quoted(address)})
  assert.equal(provider.apiKeyVariable, ${apiKeyVariable === undefined ? 'undefined' : quoted(apiKeyVariable)})
})

test('${id} is sent what it understands', () => {
  const request = {
    model: 'm',
    messages: [{ role: 'system' as const, content: 'Be brief.' }, { role: 'user' as const, content: 'Hi' }],
    stream: true,
    includeUsage: false,
    n: 2,
    maxTokens: 64,
    temperature: 0,
    stop: ['END'],
    seed: 7,
    user: 'u-1',
    extra: {},
  }
  const { path, body, warnings } = ${identifier}.protocol.renderRequest(request, {
    model: 'their-model',
    maxOutputTokens: undefined,
  })
  assert.equal(path, '/chat/completions')
  assert.deepEqual(JSON.parse(body), {
    model: 'their-model',
    messages: request.messages,
    stream: true,
    stream_options: { include_usage: true },
    n: 2,
    max_tokens: 64,
    temperature: 0,
    stop: ['END'],
    seed: 7,
    user: 'u-1',
  })
  assert.deepEqual(warnings, [])
})
`
}

/**
 * The registry's file with one host more: its import among the others, in order, and its name in the list, before the
 * simulator.
 * @throws Error when the file is not written as expected.
 */
export function registered(registry: string, identifier: string, id: string): string {
  const imports = [...registry.matchAll(/^import [^\n]* from '(\.\/[^']+)'\n/gm)]
  const next = imports.find(([, path = '']) => path > `./${id}.ts`)
  const last = imports.at(-1)
  const list = /PROVIDERS\b[^\n]*\n?\s*=?\s*Object\.fromEntries\(\s*\[([^\]]*)\]/.exec(registry)
  const inList = list === null ? -1 : list[0].search(/\s*\bsimulator\b[^[]*\]$/)
  if (list === null || inList < 0 || last === undefined) {
    throw new Error('src/providers/index.ts has no list of providers that ends with the simulator.')
  }
  const inImports = next === undefined ? last.index + last[0].length : next.index
  const place = list.index + inList
  const space = /^\s*/.exec(registry.slice(place))?.[0] ?? ' '
  return [
    registry.slice(0, inImports),
    `import { ${identifier} } from './${id}.ts'\n`,
    registry.slice(inImports, place),
    `${space}${identifier},`,
    registry.slice(place),
  ].join('')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
