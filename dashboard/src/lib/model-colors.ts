/** The color of each model, the same in all charts of this browser: first by a hash of its ID, then kept. */
import { createStore } from './browser-store.ts'
import { CHART_COLORS } from './tones.ts'

/** So many colors are assigned before the next ones, which are less easy to tell apart. */
const ROW = 8
/** Beyond these, all colors are assigned again. */
const MAX_MODELS = 500

type Colors = Readonly<Record<string, number>>

const store = createStore<Colors>({
  name: 'colors-of-models', // not `model-colors`, in which models share one of eight
  parse(text) {
    const value: unknown = JSON.parse(text ?? '{}')
    if (typeof value !== 'object' || value === null) return {}
    const isColor = (color: unknown): color is number =>
      typeof color === 'number' && Number.isInteger(color) && color >= 0 && color < CHART_COLORS
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, number] => isColor(entry[1])))
  },
  render: (value) => JSON.stringify(value),
})

/** One for each model, from 0. Models that have none yet get one, in this order. */
export function modelColors(models: readonly string[]): readonly number[] {
  const known = store.read()
  const colors = withColors(known, models)
  if (colors !== known) store.write(colors)
  return models.map((model) => (Object.hasOwn(colors, model) ? (colors[model] ?? 0) : 0))
}

/** The color that its ID hashes to, or the next one that fewer models have. @returns `known` if it has all of them. */
export function withColors(known: Colors, models: readonly string[]): Colors {
  const missing = models.filter((model) => !Object.hasOwn(known, model))
  if (missing.length === 0) return known
  const colors = Object.keys(known).length + missing.length > MAX_MODELS ? new Map() : new Map(Object.entries(known))
  const users = Array.from(
    { length: CHART_COLORS },
    (_, color) => [...colors.values()].filter((it) => it === color).length,
  )
  for (const model of new Set(colors.size === 0 ? models : missing)) {
    const color = leastUsed(users, hashOf(model) % ROW)
    users[color] = (users[color] ?? 0) + 1
    colors.set(model, color)
  }
  return Object.fromEntries(colors)
}

/** @param first Preferred in each row. */
function leastUsed(users: readonly number[], first: number): number {
  const least = Math.min(...users)
  const order = users.map((_, step) => step - (step % ROW) + ((first + step) % ROW))
  return order.find((color) => users[color] === least) ?? first
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const unit of text) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return hash
}
