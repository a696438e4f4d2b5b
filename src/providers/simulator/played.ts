/**
 * Which directives an answer follows: those of the last user message; where that has none, the script of an earlier one goes
 * on. What has been played of a script are the assistant's messages after it: nothing is remembered from request to request.
 */
import { type Directives, type Message, parseLines, parseMessage, readLine } from './directives.ts'

export interface Played {
  readonly directives: Directives
  /** Whether a script says what the answer is. */
  readonly isTurn: boolean
}

interface Said {
  readonly role: unknown
  /** Of users alone. */
  readonly text: string
}

/** @param offersTools Whether tools may be called. Throws `DirectiveError`. */
export function played(messages: readonly Said[], offersTools: boolean): Played {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const last = parseMessage(messages[lastUser]?.text ?? '')
  const at = last.hasDirectives ? lastUser : messages.findLastIndex(({ text }) => hasScript(text))
  const message = at === lastUser || at < 0 ? last : parseMessage(messages[at]?.text ?? '')
  const { lines, turns } = message
  if (turns.length === 0) return { directives: last, isTurn: false }
  const done = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length
  if (callsTools(message) && !offersTools) {
    return { directives: { ...parseLines(lines, last.prompt), say: restOf(message, done) }, isTurn: true }
  }
  const turn = turns[done]
  return { directives: parseLines([...lines, ...(turn ?? [])], last.prompt), isTurn: turn !== undefined }
}

function hasScript(text: string): boolean {
  return text.includes('simulate:') && text.split('\n').some((line) => readLine(line)?.name === 'then')
}

function callsTools({ turns }: Message): boolean {
  return turns.some((turn) => turn.some((line) => line.startsWith('tool')))
}

/** A prompt that goes on where the script stands. */
function restOf({ lines, turns }: Message, done: number): string {
  const left = turns.slice(done).flatMap((turn) => turn.map((line, at) => `${at === 0 ? 'then' : 'and'} ${line}`))
  return ['This is left of the script:', ...['anew', ...lines, ...left].map((line) => `simulate: ${line}`)].join('\n')
}
