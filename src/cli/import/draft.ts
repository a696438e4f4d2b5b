/**
 * What an import produces: a configuration, rows for the database, and findings about what was taken over. Each source
 * (`litellm.ts`, `openrouter.ts`, …) fills in a draft; it knows neither files nor the database.
 */
import type { CatalogueEntry } from '../../../catalogue/entry.ts'
import { CATALOGUE } from '../../../catalogue/index.ts'
import type { BudgetTerms } from '../../domain/budget.ts'
import type { Scope } from '../../domain/identity/caller.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { canonicalJson, type Json } from '../../lib/json.ts'
import { slugOf } from '../../lib/text.ts'

/** `taken`: as it was. `changed`: taken over with a difference. `no_equal`: not taken over. */
export type FindingStatus = 'taken' | 'changed' | 'no_equal'

export interface Finding {
  readonly status: FindingStatus
  /** What it is about, as the source names it. */
  readonly subject: string
  readonly text: string
  /** What to do about it; undefined: nothing. */
  readonly advice?: string | undefined
}

export interface ImportedDeployment {
  readonly provider: string
  readonly model: string
  readonly priority?: number | undefined
  readonly weight?: number | undefined
}

export interface ImportedModel {
  readonly id: string
  aliases?: string[]
  /** Fields of `models[]` of the configuration. */
  settings: Json
  fallbacks?: string[]
  deployments: ImportedDeployment[]
}

/** A budget that blocks, in windows of the calendar (UTC). */
export type ImportedBudget = Pick<BudgetTerms, 'limitNanoUsd' | 'window'>

/** A key that clients hold already: only its hash is known. */
export interface ImportedKey {
  /** SHA-256 of the secret. */
  readonly hash: Uint8Array
  readonly name: string
  readonly last4: string
  readonly models: readonly string[]
  readonly ipAllowlist: readonly string[]
  readonly requestsPerMinute: number | undefined
  readonly budget: ImportedBudget | undefined
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined
  /** Name of an imported team. */
  readonly team: string | undefined
}

/** Rights of imported keys: what virtual keys of other gateways can do. */
export const IMPORTED_SCOPES: readonly Scope[] = ['chat', 'models:read', 'usage:read']

export interface ImportedTeam {
  readonly name: string
  readonly models: readonly string[]
  readonly requestsPerMinute: number | undefined
  readonly budget: ImportedBudget | undefined
}

/** Entries of the ledger, made once under their key. */
export interface OpeningEntry {
  /** Stable in the source, so that a repeated import makes no second entry. */
  readonly key: string
  readonly nanoUsd: NanoUsd
  readonly note: string
  /** `spent`: a grant and a debit, which leave the balance as it is. `granted`: credit that is left. */
  readonly kind: 'spent' | 'granted'
}

export interface ImportDraft {
  readonly providers: Map<string, Json>
  readonly models: Map<string, ImportedModel>
  readonly virtualModels: Json[]
  /** Other sections of the configuration, such as `routing`. */
  readonly sections: Record<string, unknown>
  /** Environment variables that the configuration refers to. */
  readonly variables: Set<string>
  readonly keys: ImportedKey[]
  readonly teams: ImportedTeam[]
  readonly entries: OpeningEntry[]
  readonly findings: Finding[]
}

export function createDraft(): ImportDraft {
  return {
    providers: new Map(),
    models: new Map(),
    virtualModels: [],
    sections: {},
    variables: new Set(),
    keys: [],
    teams: [],
    entries: [],
    findings: [],
  }
}

/**
 * Returns the name of the provider with these settings, which is added if the draft has none. The first one without an
 * address of its own has the name of its kind.
 * @param kind A built-in provider, or a protocol where `settings` has an address.
 */
export function addProvider(draft: ImportDraft, kind: string, settings: Json): string {
  const written = canonicalJson({ kind, ...settings })
  for (const [name, provider] of draft.providers) {
    if (canonicalJson({ kind: name, ...provider }) === written) return name
  }
  const isNamed = settings['protocol'] === undefined && !draft.providers.has(kind)
  const name = isNamed ? kind : freeName(draft, kind)
  draft.providers.set(name, isNamed || settings['protocol'] !== undefined ? settings : { kind, ...settings })
  return name
}

function freeName({ providers }: ImportDraft, wanted: string): string {
  const name = slugOf(wanted) || 'provider'
  for (let number = 2; ; number += 1) {
    const candidate = number === 2 && !providers.has(name) ? name : `${name}-${number}`
    if (!providers.has(candidate)) return candidate
  }
}

/** Adds a deployment to a model, which is created with the facts that the catalogue has about it. */
export function addDeployment(
  draft: ImportDraft,
  id: string,
  { deployment, settings, base }: NewDeployment,
): ImportedModel {
  const known = draft.models.get(id)
  const model: ImportedModel = known ?? { id, settings: inherited(id, base), deployments: [] }
  model.settings = { ...model.settings, ...settings }
  const same = model.deployments.findIndex(
    ({ provider, model: name }) => provider === deployment.provider && name === deployment.model,
  )
  const before = model.deployments[same]
  if (before === undefined) model.deployments.push(deployment)
  else model.deployments[same] = { ...before, weight: (before.weight ?? 1) + (deployment.weight ?? 1) }
  draft.models.set(id, model)
  return model
}

export interface NewDeployment {
  readonly deployment: ImportedDeployment
  /** Facts of the source, which override those of the catalogue. */
  readonly settings: Json
  /** The entry of the catalogue that the deployment serves. */
  readonly base: CatalogueEntry | undefined
}

/** An ID of the catalogue inherits from it at run time; other IDs get a copy, or no price. */
function inherited(id: string, base: CatalogueEntry | undefined): Json {
  if (CATALOGUE.some((entry) => entry.id === id || entry.aliases.includes(id))) return {}
  if (base === undefined) return { pricing: null }
  const { capabilities, context_window, max_output_tokens, pricing, kind, max_inputs } = base
  return {
    ...(kind !== undefined && { kind }),
    capabilities,
    context_window,
    ...(max_inputs !== undefined && { max_inputs }),
    max_output_tokens,
    pricing,
  }
}

/** Finds what the catalogue knows about a model of a provider, by the provider's name or by its own. */
export function catalogueEntry(provider: string, model: string): CatalogueEntry | undefined {
  const served = CATALOGUE.find(({ deployments }) =>
    deployments.some((each) => each.provider === provider && each.model === model),
  )
  return served ?? CATALOGUE.find(({ id, aliases }) => id === model || aliases.includes(model))
}

/** Renders the configuration, in the order of the documentation. */
export function renderConfig(draft: ImportDraft): Json {
  const models = [...draft.models.values()].map(({ id, aliases, settings, fallbacks, deployments }) => ({
    id,
    ...(aliases !== undefined && { aliases }),
    ...settings,
    ...(fallbacks !== undefined && { fallbacks }),
    deployments: deployments.map(withoutDefaults),
  }))
  return {
    ...draft.sections,
    providers: Object.fromEntries(draft.providers),
    ...(models.length > 0 && { models }),
    ...(draft.virtualModels.length > 0 && { virtual_models: draft.virtualModels }),
  }
}

function withoutDefaults({ provider, model, priority = 0, weight = 1 }: ImportedDeployment): Json {
  return { provider, model, ...(priority !== 0 && { priority }), ...(weight !== 1 && { weight }) }
}

/** Text of a setting whose `${` is no reference. */
export function literal(text: string): string {
  return text.replaceAll('${', '$${')
}

/** A reference to an environment variable, which the draft notes. */
export function reference(draft: ImportDraft, name: string): string {
  draft.variables.add(name)
  return `\${${name}}`
}
