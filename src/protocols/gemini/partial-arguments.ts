/** A call's arguments that come in pieces, each a JSON path (RFC 9535, normalised) and a scalar. */
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { argumentsText } from './wire.ts'

/** Deeper than what any tool takes. */
const MAX_PATH_STEPS = 64

type Step = string | number
type Container = Record<string, unknown> | unknown[]

/** One per call. Its methods throw `ProviderError` for pieces that fit nowhere. */
export interface PartialArguments {
  /** @param pieces `{jsonPath, stringValue | numberValue | boolValue | nullValue, willContinue?}`. */
  push(pieces: unknown): void
  /** JSON text of what has come so far. */
  text(): string
}

export function createPartialArguments(): PartialArguments {
  const root: Record<string, unknown> = Object.create(null)
  let unfinished: string | undefined
  return {
    push(pieces) {
      if (!Array.isArray(pieces)) return
      for (const piece of pieces) {
        if (!isRecord(piece)) continue
        const path = textOf(piece.jsonPath)
        const value = scalarOf(piece)
        if (value !== undefined) assign(root, parsePath(path), { value, continues: unfinished === path })
        unfinished = piece.willContinue === true ? path : undefined
      }
    },
    text: () => argumentsText(root),
  }
}

function scalarOf(piece: Json): unknown {
  const { stringValue, numberValue, boolValue } = piece
  if (typeof stringValue === 'string') return stringValue
  return numberValue ?? boolValue ?? ('nullValue' in piece ? null : undefined)
}

interface Assignment {
  readonly value: unknown
  /** Whether a string goes on instead of being replaced. */
  readonly continues: boolean
}

function assign(root: Container, steps: readonly Step[], { value, continues }: Assignment): void {
  let container = root
  steps.slice(0, -1).forEach((step, position) => {
    const known = get(container, step)
    const next = known ?? (typeof steps[position + 1] === 'number' ? [] : Object.create(null))
    if (typeof next !== 'object' || next === null) throw misplaced()
    if (known === undefined) set(container, step, next)
    container = next
  })
  const last = steps.at(-1) ?? ''
  const before = continues ? get(container, last) : undefined
  set(container, last, typeof before === 'string' && typeof value === 'string' ? before + value : value)
}

function get(container: Container, step: Step): unknown {
  if (Array.isArray(container)) return typeof step === 'number' ? container[step] : undefined
  return container[step]
}

/** Lists grow one by one: a piece must not reserve memory by naming a large index. */
function set(container: Container, step: Step, value: unknown): void {
  if (!Array.isArray(container)) container[step] = value
  else if (typeof step === 'number' && step <= container.length) container[step] = value
  else throw misplaced()
}

function parsePath(path: string): readonly Step[] {
  const pattern = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
  const steps: Step[] = []
  pattern.lastIndex = 1
  while (pattern.lastIndex < path.length && steps.length < MAX_PATH_STEPS) {
    const match = pattern.exec(path)
    if (match === null) throw misplaced()
    const [, name, position, single, double] = match
    steps.push(name ?? (position === undefined ? unquoted(single ?? double ?? '') : Number(position)))
    pattern.lastIndex = match.index + match[0].length
  }
  if (!path.startsWith('$') || steps.length === 0 || steps.length === MAX_PATH_STEPS) throw misplaced()
  return steps
}

function unquoted(quoted: string): string {
  const name = parseJson(`"${quoted.replaceAll("\\'", "'").replace(/(?<!\\)"/g, '\\"')}"`)
  if (typeof name !== 'string') throw misplaced()
  return name
}

function misplaced(): Error {
  return brokenAnswer('The provider sent a piece of a tool call that fits nowhere.')
}
