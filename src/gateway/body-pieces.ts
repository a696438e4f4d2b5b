/**
 * Splits a parsed body into pieces of a few thousand values, and joins them. A thread that receives a body of a hundred
 * thousand objects as a whole copies it in one step, which would block its event loop. Pure.
 */
import { isRecord, type Json } from '../lib/json.ts'

/** The values of a piece. Copying this many takes a few milliseconds. */
export const PIECE_VALUES = 4_000

/** Adjacent values of a container. Containers are numbered in the order of the pieces; 0 is the body. */
interface Part {
  readonly container: number
  /** The names of the values. Undefined if the container is an array. */
  readonly names: string[] | undefined
  readonly values: unknown[]
  /** The only value is an empty container with the next number, which later parts fill. */
  readonly isOpen: boolean
}

export type Piece = readonly Part[]

/** Splits a body into pieces of less than twice `size` values. */
export function splitBody(body: Json, size: number = PIECE_VALUES): Generator<Piece, void> {
  const counts = new Map<object, number>()
  countValues(body, counts)
  const state: Split = { counts, size, piece: [], values: 0, containers: 0 }
  return split(state, body)
}

interface Split {
  /** The number of values in each container, including the container. */
  readonly counts: ReadonlyMap<object, number>
  readonly size: number
  piece: Part[]
  /** The number of values in `piece`. */
  values: number
  containers: number
}

function* split(state: Split, body: Json): Generator<Piece, void> {
  yield* fill(state, 0, body)
  yield state.piece
}

function* fill(state: Split, container: number, from: object): Generator<Piece, void> {
  const isArray = Array.isArray(from)
  for (const [name, value] of Object.entries(from)) {
    const count = isContainer(value) ? (state.counts.get(value) ?? 1) : 1
    const isOpen = count > state.size
    add(state.piece, {
      container,
      names: isArray ? undefined : [name],
      values: [isOpen ? emptyLike(value) : value],
      isOpen,
    })
    state.values += isOpen ? 1 : count
    if (state.values >= state.size) {
      yield state.piece
      state.piece = []
      state.values = 0
    }
    if (isOpen) yield* fill(state, ++state.containers, value as object) // only containers have so many values
  }
}

/** Appends one value to the last part if that is adjacent, else adds a part. */
function add(piece: Part[], part: Part): void {
  const last = piece.at(-1)
  if (last === undefined || last.isOpen || part.isOpen || last.container !== part.container)
    return void piece.push(part)
  last.values.push(...part.values)
  last.names?.push(...(part.names ?? []))
}

function emptyLike(value: unknown): object {
  return Array.isArray(value) ? [] : {}
}

/** @returns a function that adds a piece and returns the body so far. */
export function joinBody(): (piece: Piece) => Json {
  const body: Record<string, unknown> = {}
  const containers: (Record<string, unknown> | unknown[])[] = [body]
  return (piece) => {
    for (const { container, names = [], values, isOpen } of piece) {
      const target = containers[container]
      if (Array.isArray(target)) for (const value of values) target.push(value)
      else if (target !== undefined) for (const [at, name] of names.entries()) target[name] = values[at]
      if (isOpen) containers.push(values[0] as Record<string, unknown> | unknown[]) // as `emptyLike` made it
    }
    return body
  }
}

function isContainer(value: unknown): value is object {
  return Array.isArray(value) || isRecord(value)
}

function countValues(value: unknown, counts: Map<object, number>): number {
  if (!isContainer(value)) return 1
  let count = 1
  for (const inner of Object.values(value)) count += countValues(inner, counts)
  counts.set(value, count)
  return count
}
