/** `docs/providers.md`: the registry as tables, and how to add to it. */
import { CATALOGUE } from '../../catalogue/index.ts'
import { COST_FIELDS, type CostField } from '../../src/protocols/cost-fields.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { ADDING_A_PROVIDER } from './adding-a-provider.ts'
import { factsOf } from './provider-facts.ts'
import { ROUTING } from './routing-part.ts'

const HEAD = `# Providers

Every host that Turnpike knows by name. The tables are written by \`npm run generate:docs\` out of the registry
(\`src/providers/\`), the catalogue and what each codec does with a request when it is asked; \`npm run check\` fails when
they are not up to date. How a provider is configured is in [configuration](configuration.md#providers),
how providers fare in [operation](operations.md#how-providers-fare).

A host that is not here needs no code at all where it speaks one of the protocols as it is written: give it \`protocol\` and
\`base_url\` in the configuration file.

## Where they are

A key in the variable, or in the file, switches a provider on. \`n\`: several choices come from one call, or from as many
calls side by side. Models: how many of the catalogue can be had there.

`

const FEATURES = `
## What becomes of a request

Found by asking each codec, for a model that it has no special knowledge of; families that differ (as between
generations of one maker) are dealt with by the codec. What is not named is sent, under the host's own word for it.

- **Length limit**: where \`max_tokens\` and \`max_completion_tokens\` go.
- **Usage in streams**: asked for, or sent by the host without asking. It is metered either way.
- **Earlier reasoning**: where \`reasoning_content\` of an assistant's message goes; "–": not back to the host in plain text.
- **Bent**: left out, or replaced by the nearest there is; \`x-turnpike-warnings\` names it.
- **Refused**: 422 with \`param\`, before the host is called.

`

const FORWARDED = `
## Fields beyond the OpenAI API

Documented sampling and decoding extensions that each host is sent, or that are translated for it. Other unknown fields
are dropped, and \`x-turnpike-warnings\` names them. Hosts of your own (a \`base_url\` outside the domains of the hosts above:
vLLM, SGLang, llama.cpp, Ollama, a proxy) get unknown fields as they are, unless \`forward_unknown: false\` says otherwise.

`

const COSTLY = `
## Fields that change what a call costs

None of these reaches a provider unless the model's price covers it, on any host, wherever in the request it is
(\`extra_body\` and other nested objects included). A value that asks for nothing is dropped, with a warning. Any other is
refused with 422 \`unsupported_parameter\` and the field in \`param\`. Tools that run at the provider (any \`type\` but
\`function\` and \`custom\`) are always refused; lifetimes of cache breakpoints that have no price are left out, with a warning.

`

const WHERE_HEADER = ['provider', 'protocol', 'address', 'key', 'n', 'framing', 'models', 'source, read on']
const FEATURE_HEADER = ['provider', 'length limit', 'usage in streams', 'earlier reasoning', 'bent', 'refused']

export function providersPage(): string {
  const providers = Object.values(PROVIDERS)
  const where = markdownTable(WHERE_HEADER, providers.map(whereRow))
  const features = markdownTable(FEATURE_HEADER, providers.map(featureRow))
  const forwarded = markdownTable(['provider', 'fields', 'source, read on'], providers.flatMap(forwardedRow))
  const costly = markdownTable(['field', 'would cost', 'covered by'], Object.entries(COST_FIELDS).map(costRow))
  return `${HEAD}${where}${FEATURES}${features}${FORWARDED}${forwarded}${COSTLY}${costly}${ROUTING}\n${ADDING_A_PROVIDER}`
}

function whereRow(provider: Provider): string[] {
  const { id, name, protocol, baseUrl, transport, source } = provider
  const address = baseUrl === undefined ? 'by settings, see its source file' : code(baseUrl)
  return [
    `${name} (${code(id)})`,
    code(protocol.id),
    transport === undefined ? address : 'in the process',
    keyOf(provider),
    protocol.severalChoices ? 'one call' : 'side by side',
    protocol.framing,
    String(CATALOGUE.filter(({ deployments }) => deployments.some(({ provider: at }) => at === id)).length),
    `${sourceLink(source.url)}, ${source.read}`,
  ]
}

/** Some are not switched on by a variable, but take their key from one when the file names them. */
function keyOf({ apiKeyVariable, settingVariables, settings }: Provider): string {
  if (apiKeyVariable !== undefined) return code(apiKeyVariable)
  if (settingVariables?.api_key !== undefined) return `${code(settingVariables.api_key)}, once the file names it`
  return settings?.includes('credentials_file') === true ? 'a credentials file, or the machine’s own' : 'none needed'
}

function sourceLink(url: string): string {
  return url.startsWith('docs/') ? `[here](${url.slice('docs/'.length)})` : `[${new URL(url).hostname}](${url})`
}

function featureRow(provider: Provider): string[] {
  const { lengthLimit, asksForUsage, earlierReasoning, bent, refused } = factsOf(provider)
  return [
    code(provider.id),
    lengthLimit === undefined ? '–' : code(lengthLimit),
    asksForUsage ? 'asked for' : 'by itself',
    earlierReasoning === undefined ? '–' : code(earlierReasoning),
    bent.join(', ') || '–',
    refused.join(', ') || '–',
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
