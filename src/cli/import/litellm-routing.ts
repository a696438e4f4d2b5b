/** Aliases, fallbacks and retries of LiteLLM's `router_settings` and `litellm_settings`. */
import { CATALOGUE } from '../../../catalogue/index.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ImportDraft, ImportedModel } from './draft.ts'
import { settingText, wholeNumber } from './litellm-deployments.ts'

const MAX_FALLBACKS = 10

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function importRouting(draft: ImportDraft, file: Json): void {
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

const READ: ReadonlySet<string> = new Set([
  ...['model_group_alias', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks', 'default_fallbacks'],
  ...['num_retries', 'allowed_fails', 'cooldown_time', 'timeout', 'redis_url', 'redis_host', 'redis_port'],
  ...['redis_password', 'enable_pre_call_checks'],
])

function reportRouter({ findings }: ImportDraft, router: Json): void {
  for (const [name, value] of Object.entries(router)) {
    const isStandard = name === 'routing_strategy' && value === 'simple-shuffle'
    if (READ.has(name) || isStandard) continue
    const text = `${JSON.stringify(value)} was not taken over.`
    const advice = 'docs/routing.md has the strategies: weights, priorities, virtual models, and sort in a request.'
    findings.push({ status: 'no_equal', subject: `router_settings.${name}`, text, advice })
  }
}

function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {}
}
