/** LiteLLM's `config.yaml` (its documentation, "Proxy config.yaml"). The database is in `litellm-database.ts`. */
import { parse } from 'yaml'
import { CATALOGUE } from '../../../catalogue/index.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { addDeployment, catalogueEntry, createDraft, type ImportDraft, type ImportedModel } from './draft.ts'
import {
  modelFacts,
  parseModelName,
  providerOf,
  routingWeight,
  settingText,
  wholeNumber,
} from './litellm-deployments.ts'

/** Throws where the text is not YAML, or no mapping. */
export function importLitellm(text: string): ImportDraft {
  const file: unknown = parse(text)
  if (!isRecord(file)) throw new Error('The file has no settings of LiteLLM, such as model_list.')
  const draft = createDraft()
  for (const entry of listOf(file['model_list'])) if (isRecord(entry)) importModel(draft, entry)
  importRouting(draft, file)
  reportPrices(draft)
  reportSections(draft, file)
  return draft
}

const KINDS: Readonly<Record<string, string>> = { chat: 'chat', embedding: 'embedding', rerank: 'rerank' }

function importModel(draft: ImportDraft, entry: Json): void {
  const id = String(entry['model_name'] ?? '')
  const params = isRecord(entry['litellm_params']) ? entry['litellm_params'] : {}
  const info = isRecord(entry['model_info']) ? entry['model_info'] : {}
  const named = parseModelName(params)
  if (named === undefined) {
    const text = `The provider of ${String(params['model'])} is not known.`
    const advice = 'Add it to providers with protocol and base_url, and the model to models.'
    draft.findings.push({ status: 'no_equal', subject: `model_list: ${id}`, text, advice })
    return
  }
  const mode = String(info['mode'] ?? 'chat')
  if (KINDS[mode] === undefined && mode !== 'completion' && mode !== 'responses') {
    const text = `Models with mode ${mode} are not served.`
    const advice = 'Keep calling their provider directly.'
    draft.findings.push({ status: 'no_equal', subject: `model_list: ${id}`, text, advice })
    return
  }
  const provider = providerOf(draft, named, params)
  if (id.includes('*') || named.model.includes('*')) {
    const text = `The catalogue's models of ${provider} are offered under their own IDs.`
    const advice = 'List other models, and IDs with a prefix, in models.'
    draft.findings.push({ status: 'changed', subject: `model_list: ${id}`, text, advice })
    return
  }
  const base = catalogueEntry(named.kind, String(info['base_model'] ?? named.model).replace(/^.*\//, ''))
  const kind = KINDS[mode]
  const settings = { ...(kind !== undefined && kind !== 'chat' && { kind }), ...modelFacts(params, info) }
  const weight = routingWeight(params, entry)
  const priority = Number(params['order'] ?? 0)
  const deployment = { provider, model: named.model, weight, priority: Number.isInteger(priority) ? priority : 0 }
  addDeployment(draft, id, { deployment, settings, base: base ?? catalogueEntry(named.kind, named.model) })
  draft.findings.push({ status: 'taken', subject: `model_list: ${id}`, text: `served by ${provider}, ${named.model}` })
  reportParams(draft, id, params)
}

/** Parameters that the import reads, here or in a neighbouring file. */
const READ_PARAMS: ReadonlySet<string> = new Set([
  ...[
    'model',
    'custom_llm_provider',
    'api_key',
    'api_base',
    'base_url',
    'api_version',
    'rpm',
    'tpm',
    'weight',
    'order',
  ],
  ...['input_cost_per_token', 'output_cost_per_token', 'cache_read_input_token_cost', 'timeout', 'model_info'],
  ...['cache_creation_input_token_cost', 'region_name', 'aws_region_name', 'vertex_project', 'vertex_location'],
  ...['vertex_credentials', 'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token', 'max_retries'],
])

function reportParams(draft: ImportDraft, id: string, params: Json): void {
  if (params['rpm'] !== undefined || params['tpm'] !== undefined) {
    const text = 'rpm and tpm became the weight of the deployment: limits of deployments do not exist.'
    const advice = 'Limit keys (requests_per_minute), or concurrent calls (providers.*.max_in_flight).'
    draft.findings.push({ status: 'changed', subject: `model_list: ${id}`, text, advice })
  }
  const others = Object.keys(params).filter((name) => !READ_PARAMS.has(name))
  if (others.length === 0) return
  const text = `litellm_params that were not taken over: ${others.join(', ')}.`
  const advice = 'Send request parameters with the request; docs/configuration.md has the settings of providers.'
  draft.findings.push({ status: 'no_equal', subject: `model_list: ${id}`, text, advice })
}

function reportPrices({ models, findings }: ImportDraft): void {
  for (const { id, settings } of models.values()) {
    if (settings['pricing'] !== null) continue
    const text = 'Its price is not known, so that it cannot be called.'
    const advice = 'Set pricing of the model: input_per_million and output_per_million; 0 for a server of your own.'
    findings.push({ status: 'changed', subject: `model_list: ${id}`, text, advice })
  }
}

/** Sections and settings without an equal, with what replaces them. */
const ADVICE: Readonly<Record<string, string>> = {
  'general_settings.master_key':
    'Create a key with full rights: turnpike keys create --name admin --operator. The master key is not a client key.',
  'general_settings.database_url': 'Pass it as --database-url to import keys, teams and spending.',
  'general_settings.alerting': 'Create a webhook: docs/webhooks.md.',
  'general_settings.pass_through_endpoints': 'Call these endpoints directly.',
  'litellm_settings.cache': 'Responses are not cached; providers cache prompts.',
  'litellm_settings.callbacks': 'Send traces by OpenTelemetry (docs/observability.md), or events by webhook.',
  'litellm_settings.success_callback': 'Send traces by OpenTelemetry (docs/observability.md), or events by webhook.',
  'litellm_settings.failure_callback': 'Send traces by OpenTelemetry (docs/observability.md), or events by webhook.',
  'litellm_settings.max_budget': 'Set the monthly budget of the account: PATCH /v1/credits.',
  environment_variables: 'Set these variables in the environment or in .env.',
  guardrails: 'Check prompts in the client.',
  include: 'Run the import for each included file.',
}
const DONE: ReadonlySet<string> = new Set([
  ...['model_list', 'router_settings', 'litellm_settings.fallbacks', 'litellm_settings.context_window_fallbacks'],
  ...[
    'litellm_settings.content_policy_fallbacks',
    'litellm_settings.default_fallbacks',
    'litellm_settings.drop_params',
  ],
  ...['litellm_settings.num_retries', 'litellm_settings.request_timeout', 'litellm_settings.model_group_alias'],
  ...['litellm_settings.set_verbose', 'litellm_settings.allowed_fails', 'litellm_settings.cooldown_time'],
])

function reportSections({ findings }: ImportDraft, file: Json): void {
  for (const [section, value] of Object.entries(file)) {
    const isNested = (section === 'general_settings' || section === 'litellm_settings') && isRecord(value)
    const names = isNested ? Object.keys(value as Json).map((name) => `${section}.${name}`) : [section]
    for (const subject of names.filter((name) => !DONE.has(name))) {
      const advice = ADVICE[subject] ?? 'See docs/configuration.md for what can be set.'
      findings.push({ status: 'no_equal', subject, text: 'This setting was not taken over.', advice })
    }
  }
}

/* Aliases, fallbacks and retries of LiteLLM's `router_settings` and `litellm_settings`. */

const MAX_FALLBACKS = 10

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function importRouting(draft: ImportDraft, file: Json): void {
  const settings = { ...recordOf(file['litellm_settings']), ...recordOf(file['router_settings']) }
  importAliases(draft, settings['model_group_alias'])
  for (const name of ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks']) {
    importFallbacks(draft, name, settings[name])
  }
  const standard = listOf(settings['default_fallbacks']).map(String)
  for (const model of draft.models.values()) {
    const others = standard.filter((name) => name !== model.id)
    if (others.length > 0) addFallbacks(draft, model, { name: 'default_fallbacks', fallbacks: others })
  }
  importRetries(draft, settings)
  importRedis(draft, recordOf(file['router_settings']))
  reportRouter(draft, recordOf(file['router_settings']))
}

function importAliases({ models, findings }: ImportDraft, aliases: unknown): void {
  for (const [alias, target] of Object.entries(recordOf(aliases))) {
    const id = String(isRecord(target) ? target['model'] : target)
    const model = models.get(id)
    const subject = `model_group_alias: ${alias}`
    if (model === undefined || models.has(alias)) {
      const text = model === undefined ? `There is no model ${id} in model_list.` : 'A model has the same name.'
      findings.push({ status: 'no_equal', subject, text, advice: 'Add it to aliases of a model.' })
      continue
    }
    model.aliases = [...new Set([...(model.aliases ?? []), alias])]
    findings.push({ status: 'taken', subject, text: `an alias of ${id}` })
  }
}

/** @param value A list of mappings from a model to its fallbacks. */
function importFallbacks(draft: ImportDraft, name: string, value: unknown): void {
  for (const [id, names] of listOf(value).flatMap((each) => Object.entries(recordOf(each)))) {
    const fallbacks = listOf(names).flatMap((each) => (typeof each === 'string' ? [each] : []))
    const targets = id === '*' ? [...draft.models.values()] : [draft.models.get(id)].filter(isModel)
    if (targets.length === 0) {
      const text = 'The model is not in model_list.'
      const advice = 'Add it to models with these fallbacks.'
      draft.findings.push({ status: 'no_equal', subject: `${name}: ${id}`, text, advice })
    }
    for (const model of targets)
      addFallbacks(draft, model, { name, fallbacks: fallbacks.filter((to) => to !== model.id) })
  }
}

function isModel(model: ImportedModel | undefined): model is ImportedModel {
  return model !== undefined
}

interface NamedFallbacks {
  /** The setting they come from. */
  readonly name: string
  readonly fallbacks: readonly string[]
}

function addFallbacks({ models, findings }: ImportDraft, model: ImportedModel, { name, fallbacks }: NamedFallbacks) {
  const subject = `${name}: ${model.id}`
  const known = new Set([...models.values()].flatMap(({ id, aliases = [] }) => [id, ...aliases]))
  const isKnown = (id: string) =>
    known.has(id) || CATALOGUE.some((entry) => entry.id === id || entry.aliases.includes(id))
  const unknown = fallbacks.filter((id) => !isKnown(id))
  if (unknown.length > 0) {
    const text = `There is no model ${unknown.join(', ')}.`
    findings.push({ status: 'no_equal', subject, text, advice: 'Add it to models, then to fallbacks of this model.' })
  }
  const all = [...new Set([...(model.fallbacks ?? []), ...fallbacks.filter(isKnown)])]
  if (all.length === 0) return
  model.fallbacks = all.slice(0, MAX_FALLBACKS)
  if (name === 'fallbacks' || name === 'default_fallbacks') {
    findings.push({ status: 'taken', subject, text: `fallbacks: ${model.fallbacks.join(', ')}` })
  } else {
    const text = 'A model has one list of fallbacks, which applies to every failure of routing.fallback_on.'
    const advice = 'Switch off the causes that must not cause a fallback in routing.fallback_on.'
    findings.push({ status: 'changed', subject, text, advice })
  }
}

function importRetries({ sections, findings, providers }: ImportDraft, settings: Json): void {
  const retries = Number(settings['num_retries'])
  const failures = wholeNumber(settings['allowed_fails'])
  const cooldown = Number(settings['cooldown_time'])
  const breaker = {
    ...(failures !== undefined && { failures: Math.min(failures + 1, 1_000) }),
    ...(cooldown > 0 && { open_ms: Math.round(cooldown * 1000) }),
  }
  const routing = {
    ...(Number.isInteger(retries) && retries >= 0 && { max_attempts: Math.min(retries + 1, 10) }),
    ...(Object.keys(breaker).length > 0 && { breaker }),
  }
  if (Object.keys(routing).length > 0) {
    sections['routing'] = routing
    findings.push({ status: 'taken', subject: 'num_retries, allowed_fails, cooldown_time', text: 'routing' })
  }
  const seconds = Number(settings['timeout'] ?? settings['request_timeout'])
  if (!(seconds > 0)) return
  const timeout_ms = { total: Math.min(Math.ceil(seconds * 1000), 2_147_483_647) }
  for (const [name, provider] of providers) providers.set(name, { timeout_ms, ...provider })
  findings.push({ status: 'taken', subject: 'timeout', text: 'providers.*.timeout_ms.total' })
}

function importRedis(draft: ImportDraft, router: Json): void {
  const text = (name: string) => settingText(draft, router[name])
  const [url, host, port = '6379', password] = ['redis_url', 'redis_host', 'redis_port', 'redis_password'].map(text)
  if (url === undefined && host === undefined) return
  draft.sections['redis_url'] = url ?? `redis://${password === undefined ? '' : `:${password}@`}${host}:${port}`
  draft.findings.push({ status: 'taken', subject: 'router_settings: redis', text: 'redis_url, for shared rate limits' })
}

const READ_SETTINGS: ReadonlySet<string> = new Set([
  ...['model_group_alias', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks', 'default_fallbacks'],
  ...['num_retries', 'allowed_fails', 'cooldown_time', 'timeout', 'redis_url', 'redis_host', 'redis_port'],
  ...['redis_password', 'enable_pre_call_checks'],
])

function reportRouter({ findings }: ImportDraft, router: Json): void {
  for (const [name, value] of Object.entries(router)) {
    const isStandard = name === 'routing_strategy' && value === 'simple-shuffle'
    if (READ_SETTINGS.has(name) || isStandard) continue
    const text = `${JSON.stringify(value)} was not taken over.`
    const advice = 'docs/routing.md has the strategies: weights, priorities, virtual models, and sort in a request.'
    findings.push({ status: 'no_equal', subject: `router_settings.${name}`, text, advice })
  }
}

function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {}
}
