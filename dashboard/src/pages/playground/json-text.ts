/**
 * JSON that people type: what it says, or what is wrong with it and in which line. Browsers differ in what they tell about
 * a fault, and some do not tell its place, so it is looked for here.
 */
import type { Json } from '../../lib/code-samples.ts'

export interface TextProblem {
  readonly message: string
  /** Counts from 1. */
  readonly line?: number | undefined
}

export type JsonReading =
  | { readonly value: Json; readonly problem?: never }
  | { readonly value?: never; readonly problem: TextProblem }

export function readJson(text: string): JsonReading {
  try {
    const value: Json = JSON.parse(text)
    return { value }
  } catch {
    const { at, what } = findFault(text)
    return { problem: { message: `This is not JSON: ${what}`, line: lineOf(text, at) } }
  }
}

interface Token {
  readonly text: string
  readonly at: number
}

const TOKEN = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|[[\]{},:]|[^\s[\]{},:"]+|"[^\n]*/g
const ATOM = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const WHOLE_TEXT = /^"(?:[^\\]|\\.)*"$/s

function tokensOf(text: string): readonly Token[] {
  return [...text.matchAll(TOKEN)].map((match) => ({ text: match[0], at: match.index }))
}

interface Fault {
  readonly at: number
  readonly what: string
}

type Expected = 'value' | 'item' | 'member' | 'name' | 'colon' | 'next' | 'end'

/** The first token that may not stand where it stands. */
function findFault(text: string): Fault {
  const open: string[] = []
  let expected: Expected = 'value'
  for (const token of tokensOf(text)) {
    const next = step(token.text, expected, open)
    if (next === undefined) return { at: token.at, what: faultOf(token.text) }
    expected = next
  }
  return { at: text.trimEnd().length, what: 'unexpected end of text.' }
}

const CLOSES: Readonly<Record<string, string>> = { '[': ']', '{': '}' }
const AFTER_COMMA: Readonly<Record<string, Expected>> = { '[': 'value', '{': 'name' }

/** @param open The brackets around the token; changed by one. @returns What may follow; undefined: the token may not be here. */
function step(token: string, expected: Expected, open: string[]): Expected | undefined {
  const around = open.at(-1) ?? ''
  if (expected === 'colon') return token === ':' ? 'value' : undefined
  if (expected === 'next' && token === ',') return AFTER_COMMA[around]
  const mayClose = expected === 'next' || expected === 'item' || expected === 'member'
  if (mayClose && token === CLOSES[around]) {
    open.pop()
    return open.length === 0 ? 'end' : 'next'
  }
  if (expected === 'member' || expected === 'name') return isText(token) ? 'colon' : undefined
  if (expected !== 'value' && expected !== 'item') return undefined
  if (token === '[' || token === '{') {
    open.push(token)
    return token === '[' ? 'item' : 'member'
  }
  if (!isText(token) && !ATOM.test(token)) return undefined
  return open.length === 0 ? 'end' : 'next'
}

function isText(token: string): boolean {
  return token.length > 1 && token.startsWith('"') && WHOLE_TEXT.test(token)
}

const MAX_SHOWN = 20

function faultOf(token: string): string {
  if (token.startsWith('"') && !isText(token)) return 'a string is not closed on its line.'
  const shown = token.length > MAX_SHOWN ? `${token.slice(0, MAX_SHOWN)}…` : token
  return `unexpected ${shown}.`
}

export function lineOf(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

/** Lines on which the items of the outermost list begin. The text must be JSON. */
export function linesOfItems(text: string): readonly number[] {
  const lines: number[] = []
  let depth = 0
  let awaitsItem = false
  for (const token of tokensOf(text)) {
    if (awaitsItem && token.text !== ']') lines.push(lineOf(text, token.at))
    awaitsItem = (depth === 0 && token.text === '[') || (depth === 1 && token.text === ',')
    if (token.text === '[' || token.text === '{') depth += 1
    if (token.text === ']' || token.text === '}') depth -= 1
  }
  return lines
}

export function problemText({ message, line }: TextProblem): string {
  return line === undefined ? message : `Line ${line}: ${message}`
}

/** Reads what came from outside, a field at a time: what is not of the asked kind is not there. */
export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
