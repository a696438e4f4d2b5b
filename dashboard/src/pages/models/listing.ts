/** Which models are listed, in which order, and how many each choice would leave. */
import { formatMs, formatSuccess } from '../../lib/format.ts'
import { listed, type ModelsSearch, type SortId } from './search.ts'

/** What of a model is looked at here. */
export interface Listed {
  readonly id: string
  readonly name: string
  readonly owned_by: string
  readonly alias_of?: string
  readonly capabilities: {
    readonly streaming: boolean
    readonly function_calling: boolean
    readonly vision: boolean
    readonly json_mode: boolean
  }
  readonly context_window: number
  readonly max_output_tokens: number | null
  readonly pricing: {
    readonly input_per_million: number
    readonly output_per_million: number
    readonly cached_input_per_million?: number
  } | null
  readonly architecture: { readonly input_modalities: readonly string[] }
  readonly supported_parameters: readonly string[]
  readonly providers: readonly { readonly name: string }[]
}

export type Row<Model extends Listed> = Model & { readonly aliases: readonly string[] }

/** Each model once, with its other names; an alias of a model that is not there stands for itself. */
export function rowsOf<Model extends Listed>(models: readonly Model[]): readonly Row<Model>[] {
  const ids = new Set(models.map(({ id }) => id))
  const isFolded = ({ alias_of: target }: Model) => target !== undefined && ids.has(target)
  const aliases = Map.groupBy(models.filter(isFolded), ({ alias_of: target }) => target)
  return models
    .filter((model) => !isFolded(model))
    .map((model) => ({ ...model, aliases: (aliases.get(model.id) ?? []).map(({ id }) => id) }))
}

export interface Compared<Model extends Listed> {
  readonly models: readonly Row<Model>[]
  /** Names of no model that is listed. */
  readonly unknown: readonly string[]
}

/** The models of these names, each once, also where it is named by an alias. */
export function comparedOf<Model extends Listed>(
  rows: readonly Row<Model>[],
  names: readonly string[],
): Compared<Model> {
  const found = names.map((name) => ({
    name,
    row: rows.find(({ id, aliases }) => id === name || aliases.includes(name)),
  }))
  return {
    models: [...new Set(found.flatMap(({ row }) => row ?? []))],
    unknown: found.filter(({ row }) => row === undefined).map(({ name }) => name),
  }
}

export const FACETS = ['owner', 'provider', 'modality', 'capability', 'min_context', 'max_price'] as const
export type Facet = (typeof FACETS)[number]

export const CAPABILITIES = ['tools', 'json', 'json_schema', 'vision', 'reasoning', 'streaming'] as const
export type CapabilityName = (typeof CAPABILITIES)[number]

export function capabilitiesOf({ capabilities, supported_parameters: parameters }: Listed): readonly CapabilityName[] {
  const has: Readonly<Record<CapabilityName, boolean>> = {
    tools: capabilities.function_calling,
    json: capabilities.json_mode,
    json_schema: parameters.includes('structured_outputs'),
    vision: capabilities.vision,
    reasoning: parameters.includes('reasoning_effort'),
    streaming: capabilities.streaming,
  }
  return CAPABILITIES.filter((name) => has[name])
}

/** The models that fit all that is searched and chosen. Of a maker or a provider any will do, of the others all are needed. */
export function filtered<Model extends Row<Listed>>(rows: readonly Model[], search: ModelsSearch): readonly Model[] {
  return rows.filter((row) => matchesText(row, search.q) && FACETS.every((facet) => passes(row, facet, search)))
}

export interface Choice {
  readonly value: string
  readonly count: number
}

/** Of the models that fit everything but this facet, how many have each value. Values that none has are not there. */
export function choicesOf(
  rows: readonly Row<Listed>[],
  facet: 'owner' | 'provider' | 'modality' | 'capability',
  search: ModelsSearch,
): readonly Choice[] {
  const isAny = facet === 'owner' || facet === 'provider'
  const others = FACETS.filter((each) => !isAny || each !== facet)
  const fitting = rows.filter((row) => matchesText(row, search.q) && others.every((each) => passes(row, each, search)))
  const counts = new Map(rows.flatMap((row) => valuesOf(row, facet)).map((value) => [value, 0]))
  for (const value of fitting.flatMap((row) => valuesOf(row, facet))) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].map(([value, count]) => ({ value, count }))
}

/** How many models would be left with each of these bounds. */
export function boundsOf(
  rows: readonly Row<Listed>[],
  facet: 'min_context' | 'max_price',
  { search, bounds }: { readonly search: ModelsSearch; readonly bounds: readonly number[] },
): readonly Choice[] {
  return bounds.map((bound) => {
    const value = String(bound)
    return { value, count: filtered(rows, { ...search, [facet]: value }).length }
  })
}

function valuesOf(row: Listed, facet: 'owner' | 'provider' | 'modality' | 'capability'): readonly string[] {
  switch (facet) {
    case 'owner':
      return [row.owned_by]
    case 'provider':
      return [...new Set(row.providers.map(({ name }) => name))]
    case 'modality':
      return row.architecture.input_modalities
    case 'capability':
      return capabilitiesOf(row)
  }
}

function passes(row: Listed, facet: Facet, search: ModelsSearch): boolean {
  if (search[facet] === undefined) return true
  if (facet === 'min_context') return row.context_window >= Number(search.min_context)
  if (facet === 'max_price') return row.pricing !== null && row.pricing.input_per_million <= Number(search.max_price)
  const wanted = listed(search[facet])
  const has = new Set(valuesOf(row, facet))
  return facet === 'owner' || facet === 'provider'
    ? wanted.some((value) => has.has(value))
    : wanted.every((value) => has.has(value))
}

/** All words of the search, in the ID, the name, the maker, or another name of it. */
function matchesText({ id, name, owned_by: owner, aliases }: Row<Listed>, q: string | undefined): boolean {
  if (q === undefined) return true
  const text = [id, name, owner, ...aliases].join(' ').toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

export interface Measured {
  readonly first_byte_ms: { readonly p50: number } | null
  readonly success_rate: number | null
}

interface SortOptions {
  readonly speeds: ReadonlyMap<string, Measured> | undefined
  readonly sort: SortId | undefined
  readonly dir: 'asc' | 'desc'
}

/** What has no value is last, whichever way. Without a column, as the API lists them. */
export function sorted<Model extends Listed>(
  rows: readonly Model[],
  { speeds, sort, dir }: SortOptions,
): readonly Model[] {
  if (sort === undefined) return rows
  const sign = dir === 'asc' ? 1 : -1
  return rows
    .map((row) => ({ row, value: sortValue(row, sort, speeds?.get(row.id)) }))
    .toSorted((one, other) => compared(one.value, other.value, sign))
    .map(({ row }) => row)
}

type SortValue = string | number | null | undefined

function compared(one: SortValue, other: SortValue, sign: number): number {
  const [hasOne, hasOther] = [one ?? undefined, other ?? undefined]
  if (hasOne === undefined || hasOther === undefined)
    return Number(hasOne === undefined) - Number(hasOther === undefined)
  if (hasOne === hasOther) return 0
  return hasOne < hasOther ? -sign : sign
}

function sortValue(model: Listed, sort: SortId, speed: Measured | undefined): SortValue {
  switch (sort) {
    case 'id':
      return model.id
    case 'owner':
      return model.owned_by
    case 'input':
      return model.pricing?.input_per_million
    case 'output':
      return model.pricing?.output_per_million
    case 'cached':
      return model.pricing?.cached_input_per_million
    case 'context':
      return model.context_window
    case 'max_output':
      return model.max_output_tokens
    case 'first_token':
      return speed?.first_byte_ms?.p50
    case 'success':
      return speed?.success_rate
  }
}

interface MeasuredModels {
  readonly byModel: ReadonlyMap<string, Measured>
}

/** The median. */
export function firstTokenText(speeds: MeasuredModels | undefined, id: string): string | undefined {
  const ms = speeds?.byModel.get(id)?.first_byte_ms?.p50
  return ms === undefined ? undefined : formatMs(ms)
}

export const NO_CALLS = 'no calls'

export function uptimeText(speeds: MeasuredModels | undefined, id: string): string | undefined {
  const speed = speeds?.byModel.get(id)
  if (speed === undefined) return speeds === undefined ? undefined : NO_CALLS
  return speed.success_rate === null ? undefined : formatSuccess(speed.success_rate)
}

/** The names that are most like one that does not exist, the nearest first, three at most. */
export function nearestNames(id: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(id)
  return names
    .map((name) => ({ name, likeness: likeness(wanted, pairsOf(name)) }))
    .filter(({ likeness }) => likeness > LEAST_LIKENESS)
    .toSorted((one, other) => other.likeness - one.likeness)
    .slice(0, 3)
    .map(({ name }) => name)
}

const LEAST_LIKENESS = 0.3

/** Of letters that stand side by side, which misspelled words have in common with what was meant. */
function pairsOf(text: string): ReadonlySet<string> {
  const letters = ` ${text.toLowerCase()} `
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)))
}

/** 0 to 1: twice what both have, of what they have together. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  return (2 * [...one].filter((pair) => other.has(pair)).length) / (one.size + other.size)
}
