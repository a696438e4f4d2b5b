/** A config of Portkey (its documentation, "Config object"): a strategy over targets, which may be nested. */

import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { slugOf } from '../../lib/text.ts'
import { PROVIDERS } from '../../providers/index.ts'
import {
  addDeployment,
  addProvider,
  catalogueEntry,
  createDraft,
  type ImportDraft,
  literal,
  reference,
} from './draft.ts'

/** Portkey's name → built-in provider, where they differ. */
const NAMES: Readonly<Record<string, string>> = {
  'azure-openai': 'azure',
  'vertex-ai': 'vertex',
  'together-ai': 'together',
  'fireworks-ai': 'fireworks',
  'mistral-ai': 'mistral',
  'perplexity-ai': 'perplexity',
  'x-ai': 'xai',
  dashscope: 'alibaba',
}

/** @param fallbackName Name of the virtual model where the config has none. */
export function importPortkey(text: string, fallbackName: string): ImportDraft {
  const parsed = parseJson(text)
  const configs = (Array.isArray(parsed) ? parsed : [parsed]).filter(isRecord)
  if (configs.length === 0) throw new Error('The file has no config of Portkey: a JSON object with targets.')
  const draft = createDraft()
  configs.forEach((config, index) => {
    const name = String(
      config['slug'] ?? config['name'] ?? (index === 0 ? fallbackName : `${fallbackName}-${index + 1}`),
    )
    const body = typeof config['config'] === 'string' ? parseJson(config['config']) : (config['config'] ?? config)
    if (isRecord(body)) importConfig(draft, name, body)
  })
  return draft
}

interface Candidate {
  readonly model: string
  readonly weight: number
}

function importConfig(draft: ImportDraft, name: string, config: Json): void {
  const mode = modeOf(config)
  const candidates = candidatesOf(draft, config, { name, share: 1 })
  reportOthers(draft, name, config)
  if (mode === 'conditional') {
    const advice = 'Choose the model in the client, or call the virtual models of the targets.'
    const text = 'Conditions on metadata do not exist; its targets became candidates in their order.'
    draft.findings.push({ status: 'changed', subject: `config: ${name}`, text, advice })
  }
  if (candidates.length === 0) return
  const weighted = mode === 'loadbalance'
  draft.virtualModels.push({
    id: name,
    candidates: candidates.map(({ model, weight }) => ({ model, ...(weighted && { weight }) })),
    ...(weighted && { strategy: 'weighted' }),
  })
  const text = `a virtual model: ${candidates.map(({ model }) => model).join(', ')}`
  const advice = `Send "model": "${name}" instead of the header x-portkey-config.`
  draft.findings.push({ status: 'taken', subject: `config: ${name}`, text, advice })
}

function modeOf(config: Json): string {
  const strategy = isRecord(config['strategy']) ? config['strategy'] : {}
  return String(strategy['mode'] ?? config['mode'] ?? 'single')
}

interface Position {
  readonly name: string
  /** Of the requests that come to this target, by the strategies above it. */
  readonly share: number
}

/** Nested strategies become one list: weights multiply, fallbacks follow in order. */
function candidatesOf(draft: ImportDraft, config: Json, { name, share }: Position): readonly Candidate[] {
  const targets = Array.isArray(config['targets']) ? config['targets'].filter(isRecord) : []
  if (targets.length === 0) return targetOf(draft, config, { name, share })
  const isSpread = modeOf(config) === 'loadbalance'
  const found = targets.flatMap((target, index) => {
    const weight = isSpread ? Number(target['weight'] ?? 1) : index === 0 ? 1 : 0
    return candidatesOf(draft, { ...inherited(config), ...target }, { name, share: share * weight })
  })
  const unique = new Map<string, number>()
  for (const { model, weight } of found) unique.set(model, (unique.get(model) ?? 0) + weight)
  return Array.from(unique, ([model, weight]) => ({ model, weight: Number(weight.toFixed(6)) }))
}

/** Settings of a strategy apply to its targets. */
function inherited({ override_params }: Json): Json {
  return override_params === undefined ? {} : { override_params }
}

function targetOf(draft: ImportDraft, target: Json, { name, share }: Position): readonly Candidate[] {
  const subject = `config: ${name}`
  const params = isRecord(target['override_params']) ? target['override_params'] : {}
  const virtualKey = textOf(target['virtual_key']) ?? textOf(target['provider'])?.replace(/^@/, '')
  const kind = kindOf(target)
  if (kind === undefined || virtualKey === undefined) {
    const text = `The provider of the target ${virtualKey ?? ''} is not known.`
    draft.findings.push({ status: 'no_equal', subject, text, advice: 'Add it to providers and models.' })
    return []
  }
  const model = textOf(params['model'])?.replace(/^@[^/]+\//, '')
  if (model === undefined) {
    const text = `The target ${virtualKey} takes the model of the request.`
    const advice = 'Name models in override_params.model and repeat the import, or add candidates by hand.'
    draft.findings.push({ status: 'no_equal', subject, text, advice })
    addTargetProvider(draft, { kind, virtualKey, target })
    return []
  }
  const provider = addTargetProvider(draft, { kind, virtualKey, target })
  const id = `${slugOf(virtualKey)}/${model}`
  addDeployment(draft, id, { deployment: { provider, model }, settings: {}, base: catalogueEntry(kind, model) })
  const others = Object.keys(params).filter((each) => each !== 'model')
  if (others.length > 0) {
    const text = `override_params were not taken over: ${others.join(', ')}.`
    draft.findings.push({ status: 'no_equal', subject, text, advice: 'Send them with the request.' })
  }
  return [{ model: id, weight: share }]
}

/** The provider of a target, or what the name of its virtual key begins with. */
function kindOf(target: Json): string | undefined {
  if (textOf(target['custom_host']) !== undefined) return 'openai-compatible'
  const written = (textOf(target['provider']) ?? textOf(target['virtual_key']) ?? '').replace(/^@/, '')
  const names = [...Object.keys(NAMES), ...Object.keys(PROVIDERS)].toSorted((one, other) => other.length - one.length)
  const found = names.find((name) => written === name || written.startsWith(`${name}-`))
  return found === undefined ? undefined : (NAMES[found] ?? found)
}

interface TargetProvider {
  readonly kind: string
  readonly virtualKey: string
  readonly target: Json
}

function addTargetProvider(draft: ImportDraft, { kind, virtualKey, target }: TargetProvider): string {
  const key = textOf(target['api_key'])
  const host = textOf(target['custom_host'])
  const variable = `${virtualKey.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`
  const settings = {
    ...(host !== undefined && { protocol: 'openai', base_url: literal(host) }),
    api_key: key === undefined ? reference(draft, variable) : literal(key),
  }
  if (key === undefined) {
    const text = `Portkey keeps the credential of ${virtualKey}.`
    const known = draft.findings.some((finding) => finding.text === text)
    const advice = `Set ${variable} to the provider's key.`
    if (!known) draft.findings.push({ status: 'changed', subject: `virtual key: ${virtualKey}`, text, advice })
  }
  return addProvider(draft, host === undefined ? kind : virtualKey, settings)
}

const OTHERS: Readonly<Record<string, string>> = {
  cache: 'Responses are not cached; providers cache prompts.',
  retry: 'Set routing.max_attempts.',
  request_timeout: 'Set timeout_ms of the provider.',
  before_request_hooks: 'Check prompts in the client.',
  after_request_hooks: 'Check answers in the client.',
  input_guardrails: 'Check prompts in the client.',
  output_guardrails: 'Check answers in the client.',
}

function reportOthers(draft: ImportDraft, name: string, config: Json): void {
  const retry = isRecord(config['retry']) ? Number(config['retry']['attempts']) : Number.NaN
  if (retry >= 0) draft.sections['routing'] = { max_attempts: Math.min(retry + 1, 10) }
  for (const [field, advice] of Object.entries(OTHERS)) {
    if (config[field] === undefined) continue
    const isTaken = field === 'retry' && retry >= 0
    const text = isTaken ? 'routing.max_attempts, for all requests' : 'This setting was not taken over.'
    const finding = { status: isTaken ? 'changed' : 'no_equal', subject: `config: ${name}: ${field}`, text } as const
    draft.findings.push({ ...finding, advice })
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
