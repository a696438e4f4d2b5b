/**
 * Directives in a prompt that control the simulator: lines of a user message that begin with `simulate:`. The rest of the
 * message is the prompt. docs/simulator.md has an example of each.
 */

export interface Directives {
  /** Tools to call, in order. `arguments` is JSON text; undefined: the smallest that the tool's schema allows. */
  readonly tools: readonly { readonly name: string; readonly arguments: string | undefined }[]
  readonly say: string | undefined
  /** An answer of so many tokens. */
  readonly tokens: number | undefined
  readonly reasoning: string | undefined
  readonly refusal: string | undefined
  readonly isFiltered: boolean
  /** After so many tokens; undefined: instead of an answer. */
  readonly error: { readonly status: number; readonly message: string; readonly after: number | undefined } | undefined
  /** How the answer breaks off, after so many tokens; undefined: before the first byte. */
  readonly breakOff: { readonly how: BreakOff; readonly after: number | undefined } | undefined
  /** Milliseconds a token. */
  readonly paceMs: number | undefined
  /** Milliseconds before the first byte. */
  readonly delayMs: number | undefined
  /** Prompt tokens that count as read from a cache. */
  readonly cachedTokens: number | undefined
  readonly hasUsage: boolean
  /** The prompt without its directives. */
  readonly prompt: string
}

/** A directive and its original text, without `simulate:` and without the markers of a turn. */
export interface Message extends Directives {
  /** What holds for all its answers. */
  readonly lines: readonly string[]
  /** A script: the answers after this message. */
  readonly turns: readonly (readonly string[])[]
  readonly hasDirectives: boolean
}

/** `stall`: silence for ever. `cut`: the connection breaks. `close`: it ends in order, but too early. */
export type BreakOff = 'stall' | 'cut' | 'close'

/** An invalid directive. Its message lists the valid ones. */
export class DirectiveError extends Error {
  override readonly name = 'DirectiveError'
}

type Changes = { -readonly [Name in keyof Directives]: Directives[Name] } & {
  tools: { name: string; arguments: string | undefined }[]
}
type Reader = (rest: string, changes: Changes) => void

export const MAX_TOKENS = 4_096
const MAX_WAIT_MS = 600_000
const DEFAULT_MESSAGES: Readonly<Record<number, string>> = {
  400: 'The simulator was told to reject this request.',
  401: 'The simulator was told to refuse this credential.',
  429: 'The simulator was told that the rate limit is reached.',
}

const READERS: Readonly<Record<string, Reader>> = {
  say: (rest, changes) => {
    changes.say = changes.say === undefined ? rest : `${changes.say}\n${rest}`
  },
  tokens: (rest, changes) => {
    changes.tokens = parseCount('tokens', rest, MAX_TOKENS)
  },
  tool: (rest, changes) => {
    const [, name = '', json = ''] = /^([a-zA-Z0-9_-]{1,64})\s*(.*)$/.exec(rest) ?? []
    if (name === '')
      throw new DirectiveError('Write "simulate: tool NAME" or "simulate: tool NAME {"json": "arguments"}".')
    changes.tools.push({ name, arguments: json === '' ? undefined : json })
  },
  reasoning: (rest, changes) => {
    changes.reasoning = rest === '' ? 'First I read the prompt, then I think about it, then I answer.' : rest
  },
  refusal: (rest, changes) => {
    changes.refusal = rest === '' ? 'I am sorry, I cannot help with that.' : rest
  },
  filter: (_rest, changes) => {
    changes.isFiltered = true
  },
  error: (rest, changes) => {
    const [, status = '', after, message = ''] = /^([45]\d\d)(?:\s+after\s+(\d{1,4}))?(?:\s+(.+))?$/.exec(rest) ?? []
    if (status === '') throw new DirectiveError('Write "simulate: error STATUS [after TOKENS] [MESSAGE]", 400 to 599.')
    const code = Number(status)
    const text = message === '' ? (DEFAULT_MESSAGES[code] ?? 'The simulator was told to fail.') : message
    changes.error = { status: code, message: text, after: after === undefined ? undefined : Number(after) }
  },
  stall: (rest, changes) => breakOff('stall', rest, changes),
  cut: (rest, changes) => breakOff('cut', rest, changes),
  close: (rest, changes) => breakOff('close', rest, changes),
  pace: (rest, changes) => {
    changes.paceMs = parseCount('pace', rest, MAX_WAIT_MS)
  },
  delay: (rest, changes) => {
    changes.delayMs = parseCount('delay', rest, MAX_WAIT_MS)
  },
  cached: (rest, changes) => {
    changes.cachedTokens = parseCount('cached', rest, Number.MAX_SAFE_INTEGER)
  },
  usage: (rest, changes) => {
    if (rest !== 'off') throw new DirectiveError('Write "simulate: usage off".')
    changes.hasUsage = false
  },
}

/** Directives that are allowed beside a script, and apply to each of its turns. */
const SETTINGS = ['pace', 'delay', 'cached', 'usage']
const OF_SCRIPTS = ['then', 'and', 'anew']

export const DIRECTIVE_NAMES: readonly string[] = [...Object.keys(READERS), ...OF_SCRIPTS]

/** Throws `DirectiveError`. */
export function parseMessage(message: string): Message {
  const prompt: string[] = []
  let lines: string[] = []
  let turns: string[][] = []
  let hasDirectives = false
  for (const line of message.split('\n')) {
    const directive = readLine(line)
    if (directive === undefined) {
      prompt.push(line)
      continue
    }
    hasDirectives = true
    const { name, rest } = directive
    if (name === 'then') turns.push([rest])
    else if (name === 'and') lastTurn(turns).push(rest)
    else if (name === 'anew') [lines, turns] = [[], []]
    else lines.push(`${name} ${rest}`.trimEnd())
  }
  checkScript(lines, turns)
  return { ...parseLines(lines, prompt.join('\n').trim()), lines, turns, hasDirectives }
}

/** @param lines Without `simulate:`. Throws `DirectiveError`. */
export function parseLines(lines: readonly string[], prompt: string): Directives {
  const changes: Changes = { ...NOTHING, tools: [], prompt }
  for (const line of lines) {
    readDirective(splitName(line), changes)
  }
  return changes
}

const PREFIX = 'simulate:'

interface Directive {
  readonly name: string
  readonly rest: string
}

/** Undefined for a line that is part of the prompt. */
export function readLine(line: string): Directive | undefined {
  const text = line.trim()
  return text.startsWith(PREFIX) ? splitName(text.slice(PREFIX.length)) : undefined
}

/** The first word, and the rest in one line. Without regular expressions over the rest: they would be quadratic. */
function splitName(text: string): Directive {
  const words = text.trim().replace(/[\r\u2028\u2029]/g, ' ')
  const end = words.search(/\s/)
  return end < 0 ? { name: words, rest: '' } : { name: words.slice(0, end), rest: words.slice(end).trimStart() }
}

function lastTurn(turns: readonly string[][]): string[] {
  const turn = turns.at(-1)
  if (turn === undefined) throw new DirectiveError('Write "simulate: then …" before "simulate: and …".')
  return turn
}

/** Reports errors in later turns at once. */
function checkScript(lines: readonly string[], turns: readonly (readonly string[])[]): void {
  for (const turn of turns) parseLines(turn, '')
  const stray = turns.length === 0 ? undefined : lines.find((line) => !SETTINGS.includes(line.split(' ')[0] ?? ''))
  if (stray === undefined) return
  const settings = SETTINGS.join(', ')
  throw new DirectiveError(`Write "simulate: then ${stray}": beside a script there may be ${settings} alone.`)
}

const NOTHING: Directives = {
  tools: [],
  say: undefined,
  tokens: undefined,
  reasoning: undefined,
  refusal: undefined,
  isFiltered: false,
  error: undefined,
  breakOff: undefined,
  paceMs: undefined,
  delayMs: undefined,
  cachedTokens: undefined,
  hasUsage: true,
  prompt: '',
}

function readDirective({ name, rest }: Directive, changes: Changes): void {
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined
  if (reader === undefined) {
    const known = DIRECTIVE_NAMES.join(', ')
    throw new DirectiveError(`The simulator knows no directive '${name.slice(0, 40)}'. It knows ${known}.`)
  }
  reader(rest, changes)
}

function breakOff(how: BreakOff, rest: string, changes: Changes): void {
  const after = rest === '' ? undefined : parseCount(how, rest, MAX_TOKENS)
  changes.breakOff = { how, after }
}

function parseCount(name: string, text: string, maximum: number): number {
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= maximum)) throw new DirectiveError(`Write "simulate: ${name} N" with a number from 0 to ${maximum}.`)
  return count
}
