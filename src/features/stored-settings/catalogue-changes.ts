/** What another catalogue changes, for people who decide about it, and which prices it raises. */
import { isRecord, type Json } from '../../lib/json.ts'

/** Prices that rise beyond it need consent. */
const MOST_RISE = 2

export interface CatalogueChanges {
  /** One line each, in the order of IDs. */
  readonly lines: readonly string[]
  /** Lines of prices that rise to more than `MOST_RISE` times. */
  readonly rises: readonly string[]
}

/** Where a figure was read says nothing about what it is. */
const UNSHOWN: ReadonlySet<string> = new Set(['source', 'settled', 'note', 'id'])

export function catalogueChanges(before: readonly Json[], after: readonly Json[]): CatalogueChanges {
  const [old, next] = [byId(before), byId(after)]
  const lines: string[] = []
  const rises: string[] = []
  for (const id of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const [one, other] = [old.get(id), next.get(id)]
    if (one === undefined) lines.push(`+ ${id}${priceOf(other)}`)
    else if (other === undefined) lines.push(`- ${id}`)
    else {
      lines.push(...changesOf(id, one, other))
      rises.push(...risesOf(id, one, other))
    }
  }
  return { lines, rises }
}

function byId(models: readonly Json[]): ReadonlyMap<string, Json> {
  return new Map(models.map((model) => [String(model['id']), model]))
}

function priceOf(model: Json | undefined): string {
  const pricing = model?.['pricing']
  if (!isRecord(pricing)) return ' (no price)'
  return ` (${pricing['input_per_million']} in, ${pricing['output_per_million']} out per million tokens)`
}

function changesOf(id: string, before: Json, after: Json): readonly string[] {
  const [old, next] = [leavesOf(before), leavesOf(after)]
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter((path) => old.get(path) !== next.get(path))
    .map((path) => `~ ${id} ${path}: ${shown(old.get(path))} → ${shown(next.get(path))}`)
}

function shown(value: unknown): string {
  return value === undefined ? '—' : String(value)
}

type Leaf = string | number | boolean | null

/** The values of an entry by their paths. */
function leavesOf(value: unknown, path = ''): ReadonlyMap<string, Leaf> {
  if (typeof value !== 'object' || value === null) return new Map([[path, value as Leaf]])
  const leaves = new Map<string, Leaf>()
  for (const [name, part] of Object.entries(value)) {
    if (part === undefined || (path === '' && UNSHOWN.has(name))) continue
    for (const [inner, leaf] of leavesOf(part, path === '' ? name : `${path}.${name}`)) leaves.set(inner, leaf)
  }
  return leaves
}

function risesOf(id: string, before: Json, after: Json): readonly string[] {
  const [old, next] = [pricesOf(before), pricesOf(after)]
  if (old.size === 0) return [] // it could not be called before
  return [...next].flatMap(([path, leaf]) => {
    const earlier = old.get(path) ?? baseOf(old, path)
    if (typeof leaf !== 'number' || earlier === undefined || !isRise(path, earlier, leaf)) return []
    return [`! ${id} pricing.${path}: ${earlier} → ${leaf}`]
  })
}

function pricesOf({ pricing }: Json): ReadonlyMap<string, number> {
  const leaves = isRecord(pricing) ? leavesOf(pricing) : new Map<string, Leaf>()
  return new Map([...leaves].filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
}

const THRESHOLD = 'above_prompt_tokens'

/** A threshold that falls makes the tier apply to more prompts. */
function isRise(path: string, earlier: number, later: number): boolean {
  return path.endsWith(THRESHOLD) ? later * MOST_RISE < earlier : later > earlier * MOST_RISE
}

/** Fees of a call and of an image are none where they are not set. */
const FEE = /(?:^|\.)per_(?:request|image)_usd$/

/** What a figure without a predecessor stood for before; undefined: nothing, such as the fee of a new tool. */
function baseOf(prices: ReadonlyMap<string, number>, path: string): number | undefined {
  if (FEE.test(path)) return 0
  const [name = ''] = path.split('.').slice(-1)
  if (!name.endsWith('_per_million')) return undefined
  return prices.get(name) ?? prices.get(/output/.test(name) ? 'output_per_million' : 'input_per_million')
}
