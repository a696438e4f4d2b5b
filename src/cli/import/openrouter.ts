/**
 * Model names and routing preferences of OpenRouter: one name a line, a JSON list of names, or the body of a request
 * (`model`, `models`, `provider`), alone or in a list.
 */
import { CATALOGUE } from '../../../catalogue/index.ts'
import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { addDeployment, addProvider, catalogueEntry, createDraft, type ImportDraft, reference } from './draft.ts'

/** OpenRouter's name of an author → built-in provider that serves its models. */
const AUTHORS: Readonly<Record<string, string>> = {
  'x-ai': 'xai',
  mistralai: 'mistral',
  moonshotai: 'moonshot',
  'z-ai': 'zai',
  qwen: 'alibaba',
  amazon: 'bedrock',
}
/** Variants that a request can have here as well. */
const VARIANTS: ReadonlySet<string> = new Set(['floor', 'nitro'])

export function importOpenrouter(text: string): ImportDraft {
  const draft = createDraft()
  const parsed = parseJson(text)
  const entries = parsed === undefined ? lines(text) : Array.isArray(parsed) ? parsed : [parsed]
  addProvider(draft, 'openrouter', { api_key: reference(draft, 'OPENROUTER_API_KEY') })
  entries.forEach((entry, index) => {
    if (typeof entry === 'string') addModel(draft, entry)
    else if (isRecord(entry)) addRequest(draft, entry, index + 1)
  })
  return draft
}

function lines(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => line.replace(/#.*$/, '').trim() || [])
}

/** Returns the ID under which the model can be called: OpenRouter's own, so that clients keep it. */
function addModel(draft: ImportDraft, written: string): string {
  const [name = '', variant] = written.split(':')
  const id = variant !== undefined && VARIANTS.has(variant) ? name : written
  const subject = `model: ${written}`
  if (id.startsWith('openrouter/')) {
    const advice = 'Create a virtual model: docs/routing.md.'
    draft.findings.push({ status: 'no_equal', subject, text: 'OpenRouter chooses its model.', advice })
    return id
  }
  if (draft.models.has(id)) return id
  const [author = '', own = name] = name.split('/')
  const base = catalogueEntry('openrouter', id) ?? catalogueEntry(AUTHORS[author] ?? author, own) ?? dotted(own)
  addDeployment(draft, id, { deployment: { provider: 'openrouter', model: id }, settings: {}, base })
  if (base === undefined) {
    const advice = 'Set pricing of the model: input_per_million and output_per_million.'
    draft.findings.push({
      status: 'changed',
      subject,
      text: 'Its price is not known, so that it cannot be called.',
      advice,
    })
  } else {
    const advice = `To call its own provider, add a deployment of ${base.deployments.map(({ provider }) => provider).join(', ')}.`
    draft.findings.push({ status: 'taken', subject, text: 'through OpenRouter, at the price of the catalogue', advice })
  }
  return id
}

/** OpenRouter writes `claude-sonnet-4.5` for `claude-sonnet-4-5`. */
function dotted(own: string) {
  const plain = own.replaceAll('.', '-')
  return CATALOGUE.find(({ id, aliases }) => [id, ...aliases].some((name) => name.replaceAll('.', '-') === plain))
}

function addRequest(draft: ImportDraft, entry: Json, number: number): void {
  const listed = Array.isArray(entry['models']) ? entry['models'].map(String) : []
  const named = [entry['model'] ?? entry['id']].filter((name) => typeof name === 'string').map(String)
  const names = [...new Set([...named, ...listed])]
  const ids = names.map((name) => addModel(draft, name)).filter((id) => draft.models.has(id))
  const preset = String(entry['slug'] ?? entry['name'] ?? `openrouter-${number}`)
  if (ids.length > 1) {
    const id = preset.startsWith('@preset/') ? preset : `@preset/${preset}`
    draft.virtualModels.push({ id, candidates: ids.map((model) => ({ model })) })
    const text = `a virtual model of ${ids.join(', ')}`
    draft.findings.push({ status: 'taken', subject: `models: ${id}`, text })
  }
  const preferences = isRecord(entry['provider']) ? entry['provider'] : {}
  if (Object.keys(preferences).length > 0) addPreferences(draft, preferences)
}

/** Preferences that hold for every request become a policy; others stay in the request, where they have the same form. */
function addPreferences(draft: ImportDraft, preferences: Json): void {
  const { data_collection, zdr, ...others } = preferences
  const policy = {
    ...(data_collection === 'deny' && { data_collection }),
    ...(zdr === true && { zdr }),
  }
  if (Object.keys(policy).length > 0) {
    draft.sections['routing'] = { policies: [policy] }
    const provider = draft.providers.get('openrouter') ?? {}
    draft.providers.set('openrouter', { ...provider, ...policy })
    const text = 'a policy for all requests; the provider openrouter is marked as fulfilling it'
    const advice = 'Turn the same setting on in your OpenRouter account: the gateway does not send it.'
    draft.findings.push({ status: 'changed', subject: 'provider preferences', text, advice })
  }
  const names = Object.keys(others)
  if (names.length === 0) return
  const text = `${names.join(', ')}: a preference of each request, in the same form.`
  const advice = 'Send provider with the request (docs/routing.md), or set priority and weight of deployments.'
  draft.findings.push({ status: 'no_equal', subject: 'provider preferences', text, advice })
}
