/** Renders `docs/providers.md`: the registry as tables, routing, and how to add a provider. */
import { CATALOGUE } from '../../catalogue/index.ts'
import { COST_FIELDS, type CostField } from '../../src/protocols/body-fields.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { ADDING_A_PROVIDER } from './adding-a-provider.ts'
import { factsOf } from './provider-facts.ts'
import { RESPONSES } from './responses-part.ts'
import { ROUTING } from './routing-part.ts'

const HEAD = `# Providers

Every host that Turnpike knows by name, what the gateway changes in requests to it, and how it routes. \`npm run
generate:docs\` writes the tables from the registry (\`src/providers/\`), the catalogue and the codecs. See
[configuration](configuration.md#providers) for the settings of a provider and
[operation](operations.md#provider-health) for its health.

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="./pictures/providers-dark.webp">
  <img src="./pictures/providers-light.webp" alt="Settings, Providers: each with its key, its models, its health and its last failure">
</picture>

A host that is not in this list needs no code if it speaks one of the protocols: set \`protocol\` and \`base_url\` in the
configuration file, and the [models](models.md#your-own-entries) that it serves, with a price, which may be 0. Without a
model nothing is sent to it.

\`\`\`yaml
providers:
  local: { protocol: openai, base_url: "http://10.1.2.3:8000/v1" }
models:
  - id: our-coder
    capabilities: { function_calling: true }       # coding clients and agents need it
    context_window: 131072
    pricing: { input_per_million: 0, output_per_million: 0 }
    deployments: [{ provider: local, model: qwen3-coder }]
\`\`\`

## Hosts

A key in the variable or in the file enables a provider. \`n\`: whether several choices come from one call, or from as
many parallel calls. Models: how many of the catalogue the provider serves.

`

const FEATURES = `
## Request fields

What each codec does with a request, for a model without special rules; a codec may treat generations of a model family
differently. Fields that are not listed are sent under the host's own name.

- **Length limit**: the field that receives \`max_tokens\` and \`max_completion_tokens\`.
- **Usage in streams**: requested by the gateway, or sent by the host in any case. It is metered either way.
- **Earlier reasoning**: the field that receives \`reasoning_content\` of an assistant's message; "–": not sent in plain
  text.
- **Adjusted**: omitted, or replaced by the nearest equivalent; \`x-turnpike-warnings\` names it.
- **Refused**: 422 with \`param\`, before the host is called.

`

const FORWARDED = `
## Fields beyond the OpenAI API

Documented sampling and decoding extensions that the gateway sends to each host, or translates for it. It drops other
unknown fields and names them in \`x-turnpike-warnings\`. Your own hosts (a \`base_url\` outside the domains above: vLLM,
SGLang, llama.cpp, Ollama, a proxy) receive unknown fields unchanged, unless \`forward_unknown: false\` is set.

`

const COSTLY = `
## Fields that change the cost of a call

None of these reaches a provider unless the model's price covers it, on any host and anywhere in the request
(\`extra_body\` and other nested objects included). A value without effect is dropped, with a warning. Any other is
refused with 422 \`unsupported_parameter\` and the field in \`param\`. Tools that run at the provider (any \`type\` but
\`function\` and \`custom\`) need a fee in the [price](prices.md#tools-that-run-at-the-provider). Lifetimes of cache
breakpoints without a price are omitted, with a warning. The gateway itself follows \`models\`, \`provider\` and
\`route\` at the top level of a request ([routing](routing.md)) and does not forward them.

`

const WHERE_HEADER = [
  'provider',
  'chat protocol',
  'other endpoints',
  'address',
  'key',
  'n',
  'framing',
  'models',
  'source, read on',
]
const FEATURE_HEADER = ['provider', 'length limit', 'usage in streams', 'earlier reasoning', 'adjusted', 'refused']

export function providersPage(): string {
  const providers = Object.values(PROVIDERS)
  const where = markdownTable(WHERE_HEADER, providers.map(whereRow))
  const features = markdownTable(FEATURE_HEADER, providers.filter(hasChat).map(featureRow))
  const forwarded = markdownTable(['provider', 'fields', 'source, read on'], providers.flatMap(forwardedRow))
  const costly = markdownTable(['field', 'would cost', 'covered by'], Object.entries(COST_FIELDS).map(costRow))
  return `${HEAD}${where}${FEATURES}${features}${FORWARDED}${forwarded}${COSTLY}${costly}${RESPONSES}${ROUTING}\n${ADDING_A_PROVIDER}`
}

function hasChat({ hasChat: has = true }: Provider): boolean {
  return has
}

/** What a provider has beside chat completions, by their protocols. */
function tasksText({ tasks = {} }: Provider): string {
  const entries = Object.entries(tasks).map(([task, { id }]) => `${task}: ${code(id)}`)
  return entries.join(', ') || '–'
}

function whereRow(provider: Provider): string[] {
  const { id, name, protocol, baseUrl, transport, source } = provider
  const address = baseUrl === undefined ? 'by settings, see its source file' : code(baseUrl)
  return [
    `${name} (${code(id)})`,
    hasChat(provider) ? code(protocol.id) : '–',
    tasksText(provider),
    transport === undefined ? address : 'in the process',
    keyOf(provider),
    protocol.severalChoices ? 'one call' : 'side by side',
    protocol.framing,
    String(CATALOGUE.filter(({ deployments }) => deployments.some(({ provider: at }) => at === id)).length),
    `${sourceLink(source.url)}, ${source.read}`,
  ]
}

/** Some providers are not enabled by a variable, but read their key from one when the file names them. */
function keyOf({ apiKeyVariable, settingVariables, settings }: Provider): string {
  if (apiKeyVariable !== undefined) return code(apiKeyVariable)
  if (settingVariables?.api_key !== undefined) return `${code(settingVariables.api_key)}, once the file names it`
  return settings?.includes('credentials_file') === true ? 'a credentials file, or the machine’s own' : 'none needed'
}

function sourceLink(url: string): string {
  return url.startsWith('docs/') ? `[here](${url.slice('docs/'.length)})` : `[${new URL(url).hostname}](${url})`
}

function featureRow(provider: Provider): string[] {
  const { lengthLimit, asksForUsage, earlierReasoning, adjusted, rejected } = factsOf(provider)
  return [
    code(provider.id),
    lengthLimit === undefined ? '–' : code(lengthLimit),
    asksForUsage ? 'requested' : 'always sent',
    earlierReasoning === undefined ? '–' : code(earlierReasoning),
    adjusted.join(', ') || '–',
    rejected.join(', ') || '–',
  ]
}

function forwardedRow({ id, protocol: { forwards }, source: own }: Provider): string[][] {
  if (forwards === undefined) return []
  const { fields, source = own } = forwards
  return [[code(id), fields.map(code).join(', '), `${sourceLink(source.url)}, ${source.read}`]]
}

function costRow([name, { cost, pricedBy }]: readonly [string, CostField]): string[] {
  return [code(name), cost, pricedBy ?? '–']
}

function code(text: string): string {
  return `\`${text}\``
}

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows]
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`
}
