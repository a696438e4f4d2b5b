/**
 * Renders events of agents for terminals. Models, commands and repositories wrote their contents: control sequences are
 * removed, and every line is indented, so that none can imitate a line of this program.
 */
import { styleText } from 'node:util'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { dollars, grouped, plainLine, plainText } from '../output.ts'
import type { Client } from '../remote/client.ts'
import { readStream, type StreamWatcher } from '../remote/event-stream.ts'

export interface AgentEvent {
  readonly type: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly data: Json
  /** The event as received. */
  readonly whole: Json
}

interface AgentFeed extends StreamWatcher {
  readonly client: Client
  readonly agentId: string
  /** Sequence number of the last known event (default: 0). */
  readonly after?: number
  /** Ends after the past events. */
  readonly isPast?: boolean
  readonly onEvent: (event: AgentEvent) => void
  readonly retriesFirst?: boolean
}

/** `Last-Event-ID` that skips all past events. */
export const FROM_NOW_ON = Number.MAX_SAFE_INTEGER

/** Resolves when all events were delivered (with `isPast`: past ones), or `signal` aborts. Rejects as `readStream` does. */
export async function followAgent(feed: AgentFeed): Promise<void> {
  let last = feed.after ?? 0
  await readStream({
    ...feed,
    path: `/agents/${feed.agentId}/events${feed.isPast === true ? '?follow=false' : ''}`,
    lastEventId: () => (last === 0 ? undefined : String(last)),
    async onFrame({ event, data }) {
      if (event === 'done') return 'over'
      const whole = parseJson(data)
      const sequence = isRecord(whole) ? whole['sequence'] : undefined
      if (!isRecord(whole) || typeof sequence !== 'number') return undefined
      if (sequence <= last && last !== FROM_NOW_ON) return undefined
      last = sequence
      feed.onEvent({
        type: textOf(whole['type']),
        createdAt: textOf(whole['created_at']),
        data: isRecord(whole['data']) ? whole['data'] : {},
        whole,
      })
      return undefined
    },
  })
}

const LABEL_WIDTH = 10
/** Indentation: `18:04:11` and the label, each with two spaces after it. */
const MARGIN = ' '.repeat(8 + 2 + LABEL_WIDTH + 2)
const LINE_CHARACTERS = 200
const ARGUMENT_CHARACTERS = 120
/** Number of printed lines at the start and the end of a tool's output. */
const FIRST_LINES = 4
const LAST_LINES = 8

type Style = 'dim' | 'green' | 'red' | 'bold' | 'cyan'

interface Entry {
  readonly label: string
  readonly style: Style
  readonly lines: readonly string[]
  /** Whether the lines are dimmed. */
  readonly isDim?: boolean
}

/** @param stream The output: only terminals get colours. */
export function agentLogLine(event: AgentEvent, stream: NodeJS.WritableStream): string {
  const { label, style, lines, isDim = false } = entryOf(event)
  const paint = (kind: Style, text: string) => (text === '' ? '' : styleText(kind, text, { stream }))
  const short = plainLine(label).slice(0, LABEL_WIDTH)
  const [first = '', ...rest] = lines.map((line) => line.trimEnd()).map((line) => (isDim ? paint('dim', line) : line))
  const space = first === '' ? '' : ' '.repeat(LABEL_WIDTH - short.length + 2)
  const head = `${paint('dim', clockOf(event.createdAt))}  ${paint(style, short)}${space}${first}`
  return `${[head, ...rest.map((line) => (line === '' ? '' : `${MARGIN}${line}`))].join('\n')}\n`
}

function entryOf({ type, data }: AgentEvent): Entry {
  switch (type) {
    case 'status':
      return statusEntry(textOf(data['status']), data['error'])
    case 'phase':
      return { label: textOf(data['phase']), style: 'bold', lines: [] }
    case 'message': {
      const isUser = data['role'] === 'user'
      return { label: isUser ? 'user' : 'model', style: 'cyan', lines: linesOf(textOf(data['content'])) }
    }
    case 'tool_call':
      // the mark distinguishes a tool from a status of the same name
      return { label: `> ${textOf(data['name'])}`, style: 'bold', lines: [argumentsText(data['arguments'])] }
    case 'tool_result':
      return resultEntry(data['exit_code'], textOf(data['output']))
    case 'usage':
      return { label: 'usage', style: 'dim', lines: [usageText(data)], isDim: true }
    case 'diff':
      return { label: 'diff', style: 'bold', lines: [changesText(data)] }
    default: // an event of a newer server
      return { label: type, style: 'dim', lines: [cut(plainLine(JSON.stringify(data)), LINE_CHARACTERS)] }
  }
}

function statusEntry(status: string, error: unknown): Entry {
  const style = status === 'completed' ? 'green' : status === 'failed' ? 'red' : 'bold'
  return { label: status, style, lines: isRecord(error) ? [failureText(error)] : [] }
}

/** `It reached max_steps. (max_steps)` */
export function failureText(error: Readonly<Record<string, unknown>>): string {
  const [message, code] = [plainLine(textOf(error['message'])), plainLine(textOf(error['code']))]
  return message === '' ? code : `${message} (${code})`
}

function resultEntry(exitCode: unknown, output: string): Entry {
  const label = exitCode === null ? 'killed' : typeof exitCode === 'number' ? `exit ${exitCode}` : 'result'
  const lines = shortened(linesOf(output)).map((line) => cut(line, LINE_CHARACTERS))
  return { label, style: exitCode === 0 || exitCode === undefined ? 'green' : 'red', lines, isDim: true }
}

function linesOf(text: string): readonly string[] {
  return plainText(text).trimEnd().split('\n')
}

function shortened(lines: readonly string[]): readonly string[] {
  const left = lines.length - FIRST_LINES - LAST_LINES
  if (left < 2) return lines // a line about one omitted line saves none
  return [...lines.slice(0, FIRST_LINES), `… ${left} lines`, ...lines.slice(-LAST_LINES)]
}

/** @param given JSON of the model, possibly invalid. */
function argumentsText(given: unknown): string {
  const fields = parseJson(textOf(given))
  if (!isRecord(fields)) return cut(plainLine(textOf(given)), ARGUMENT_CHARACTERS)
  const { path, command, pattern } = fields
  const known = [command, pattern, path].map(textOf).filter((text) => text !== '')
  const text = known.length > 0 ? known.join(' ') : Object.values(fields).map(valueText).join(' ')
  return cut(plainLine(text), ARGUMENT_CHARACTERS)
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function usageText(data: AgentEvent['data']): string {
  const { tokens, cost_usd: cost, total_cost_usd: total } = data
  return `${count(tokens)} tokens, ${amount(cost)}; ${amount(total)} so far`
}

function changesText({ files, insertions, deletions }: AgentEvent['data']): string {
  return `${count(files)} ${files === 1 ? 'file' : 'files'}, +${count(insertions)} -${count(deletions)}`
}

const count = (value: unknown) => (typeof value === 'number' ? grouped(value) : '?')
const amount = (value: unknown) => (typeof value === 'number' ? dollars(value) : '?')

/** Truncates a text to `most` UTF-16 units without splitting a character. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Returns the local time. */
function clockOf(createdAt: string): string {
  const time = new Date(createdAt)
  return Number.isNaN(time.getTime()) ? '--:--:--' : time.toTimeString().slice(0, 8)
}
