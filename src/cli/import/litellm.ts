/** LiteLLM's `config.yaml` (its documentation, "Proxy config.yaml"). The database is in `litellm-database.ts`. */
import { parse } from 'yaml'
import { isRecord, type Json } from '../../lib/json.ts'
import { addDeployment, catalogueEntry, createDraft, type ImportDraft } from './draft.ts'
import { modelFacts, parseModelName, providerOf, routingWeight } from './litellm-deployments.ts'
import { importRouting, listOf } from './litellm-routing.ts'

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
const READ: ReadonlySet<string> = new Set([
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
  const others = Object.keys(params).filter((name) => !READ.has(name))
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
