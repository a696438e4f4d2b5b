/** `turnpike chat`: a conversation in the terminal; with piped input, a single message and its answer. */
import { createInterface, type Interface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import { createSseDecoder } from '../../protocols/framing.ts'
import type { Frame } from '../../protocols/protocol.ts'
import { wrongUsage } from '../option-values.ts'
import { dollars, grouped, plainText } from '../output.ts'
import { firstForChat } from './account.ts'
import { type Client, clientOf } from './client.ts'
import { errorTextOf } from './http.ts'
import type { TargetOptions } from './target.ts'

export interface ChatOptions extends TargetOptions {
  readonly model?: string
  readonly system?: string
}

export async function chat(argument: string | undefined, options: ChatOptions): Promise<void> {
  if (argument !== undefined && options.model !== undefined && argument !== options.model) {
    throw wrongUsage('the argument and --model name different models.')
  }
  const client = await clientOf(options)
  const question = process.stdin.isTTY ? undefined : await readAll(process.stdin)
  if (question?.trim() === '') throw wrongUsage('standard input is empty.')
  const model = argument ?? options.model ?? (await defaultModel(client))
  if (question !== undefined) return answerOnce(client, { model, system: options.system, question })
  await converse({
    model,
    system: options.system,
    input: process.stdin,
    notes: process.stderr,
    answers: process.stdout,
    dim: (text) => styleText('dim', text, { stream: process.stderr }),
    ask: (asking) => streamAnswer(client, asking),
  })
}

async function defaultModel(client: Client): Promise<string> {
  const model = firstForChat(await client.get('/models'))
  if (model !== undefined) return model
  throw new Error(`${client.target.url} lists no chat model that you can use.`)
}

interface Single {
  readonly model: string
  readonly system: string | undefined
  readonly question: string
}

/** Writes only the answer to standard output. */
async function answerOnce(client: Client, { model, system, question }: Single): Promise<void> {
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort())
  const messages: readonly Message[] = [
    ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
    { role: 'user', content: question },
  ]
  let last = ''
  const onText = (text: string) => {
    last = text
    process.stdout.write(text)
  }
  const { finishReason } = await streamAnswer(client, { model, messages, signal: stopping.signal, onText })
  if (last !== '' && !last.endsWith('\n')) process.stdout.write('\n')
  if (finishReason === undefined) throw new Error('Stopped.')
  if (finishReason === 'length') process.stderr.write('The answer was truncated at the output limit.\n')
}

interface ConversationParts {
  readonly model: string
  readonly system: string | undefined
  /** A terminal in raw mode. */
  readonly input: NodeJS.ReadableStream
  /** Prompts and notes. */
  readonly notes: NodeJS.WritableStream
  /** Output of the model. */
  readonly answers: NodeJS.WritableStream
  readonly dim: (text: string) => string
  readonly ask: (asking: AnswerRequest) => Promise<AnswerEnd>
}

interface State {
  model: string
  system: string | undefined
  messages: Message[]
  /** Stops the current answer. */
  stop: (() => void) | undefined
  /** The last input was Ctrl-C. */
  isLeaving: boolean
  isOpen: boolean
}

const HELP = `/exit            exits; Ctrl-D and pressing Ctrl-C twice do the same
/model [ID]      shows the model, or switches to another one
/system [TEXT]   sets the system prompt; without text, clears it
`

/** Resolves when the user exits. */
export async function converse(parts: ConversationParts): Promise<void> {
  const { input, notes, dim } = parts
  const state: State = {
    model: parts.model,
    system: parts.system,
    messages: [],
    stop: undefined,
    isLeaving: false,
    isOpen: true,
  }
  const lines = createInterface({ input, output: notes, terminal: true, prompt: '> ' })
  lines.on('SIGINT', () => interrupt(lines, state, notes))
  lines.on('close', () => {
    state.isOpen = false
    state.stop?.()
  })
  notes.write(dim(`${state.model}; /help lists the commands\n`))
  lines.prompt()
  for await (const line of lines) {
    state.isLeaving = false
    const text = line.trim()
    if (text === '/exit') break
    if (text.startsWith('/')) notes.write(command(text, state))
    else if (text !== '') await exchange(parts, state, line)
    if (!state.isOpen) break
    lines.prompt()
  }
  lines.close()
}

/** The first Ctrl-C stops the answer or explains how to exit; the second one exits. */
function interrupt(lines: Interface, state: State, notes: NodeJS.WritableStream): void {
  state.stop?.()
  if (state.isLeaving) {
    lines.close()
  } else if (state.stop === undefined) {
    notes.write('\n(Press Ctrl-C again, or type /exit, to exit.)\n')
    lines.prompt()
  }
  state.isLeaving = true
}

async function exchange(parts: ConversationParts, state: State, question: string): Promise<void> {
  const { notes, answers, dim, ask } = parts
  const stopping = new AbortController()
  state.stop = () => stopping.abort()
  const prompt: readonly Message[] = [...state.messages, { role: 'user', content: question }]
  let answer = ''
  try {
    const end = await ask({
      model: state.model,
      messages: state.system === undefined ? prompt : [{ role: 'system', content: state.system }, ...prompt],
      signal: stopping.signal,
      onText(text) {
        answer += text
        answers.write(text)
      },
    })
    if (answer !== '') state.messages = [...prompt, { role: 'assistant', content: answer }]
    if (!answer.endsWith('\n')) answers.write('\n')
    notes.write(dim(`${summary(end)}\n`))
  } catch (error) {
    // drops the message, so that the user can send it again
    notes.write(`${answer === '' ? '' : '\n'}${error instanceof Error ? error.message : String(error)}\n`)
  } finally {
    state.stop = undefined
  }
}

/** `12 + 34 tokens, $0.000123` */
function summary({ finishReason, promptTokens, completionTokens, costUsd }: AnswerEnd): string {
  const parts: string[] = []
  if (finishReason === undefined) parts.push('stopped')
  if (finishReason === 'length') parts.push('truncated at the output limit')
  if (finishReason === 'content_filter') parts.push('blocked by a content filter')
  if (promptTokens !== undefined) parts.push(`${grouped(promptTokens)} + ${grouped(completionTokens ?? 0)} tokens`)
  if (costUsd !== undefined) parts.push(dollars(costUsd))
  return parts.join(', ')
}

function command(text: string, state: State): string {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  switch (name) {
    case 'help':
      return HELP
    case 'model':
      if (rest !== '') state.model = rest
      return `The model is ${state.model}.\n`
    case 'system':
      state.system = rest === '' ? undefined : rest
      return rest === '' ? 'System prompt cleared.\n' : 'System prompt set.\n'
    default:
      return `Unknown command /${name}.\n${HELP}`
  }
}

/* Reads the streamed answer of a model. */

interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

interface AnswerRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly signal: AbortSignal
  /** Receives text without terminal control sequences. */
  readonly onText: (text: string) => void
}

interface AnswerEnd {
  /** Undefined: the answer was aborted. */
  readonly finishReason: string | undefined
  readonly promptTokens: number | undefined
  readonly completionTokens: number | undefined
  readonly costUsd: number | undefined
}

/** Rejects when the answer is incomplete. Resolves without a finish reason when `signal` aborts it. */
export async function streamAnswer(client: Client, request: AnswerRequest): Promise<AnswerEnd> {
  const { model, messages, signal } = request
  const reader = createReader(request.onText)
  try {
    const body = { model, messages, stream: true, stream_options: { include_usage: true } }
    const response = await client.stream('/chat/completions', body, signal)
    const decoder = createSseDecoder()
    for await (const bytes of response.body ?? []) {
      const frames: Frame[] = []
      decoder.push(bytes, frames)
      for (const { data } of frames) reader.take(data)
      if (reader.isDone()) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
    return reader.end()
  }
  if (!reader.isDone()) throw new Error('The connection closed before the answer was complete.')
  return reader.end()
}

interface Reader {
  take(data: string): void
  isDone(): boolean
  end(): AnswerEnd
}

function createReader(onText: (text: string) => void): Reader {
  let isDone = false
  let end: AnswerEnd = NOTHING
  return {
    isDone: () => isDone,
    end: () => end,
    take(data) {
      if (data === '[DONE]') {
        isDone = true
        return
      }
      const chunk = parseJson(data)
      if (!isRecord(chunk)) return
      if (isRecord(chunk['error'])) throw new Error(errorTextOf({ status: 200, json: chunk }))
      end = { ...end, ...usageOf(chunk['usage']) }
      const [choice]: readonly unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : []
      if (!isRecord(choice)) return
      const delta = isRecord(choice['delta']) ? choice['delta'] : {}
      const text = plainText(textOf(delta['content']) + textOf(delta['refusal']))
      if (text !== '') onText(text)
      const reason = textOf(choice['finish_reason'])
      if (reason !== '') end = { ...end, finishReason: reason }
    },
  }
}

const NOTHING: AnswerEnd = {
  finishReason: undefined,
  promptTokens: undefined,
  completionTokens: undefined,
  costUsd: undefined,
}

function usageOf(usage: unknown): Partial<AnswerEnd> {
  if (!isRecord(usage)) return {}
  return {
    promptTokens: numberOf(usage['prompt_tokens']),
    completionTokens: numberOf(usage['completion_tokens']),
    costUsd: numberOf(usage['cost']),
  }
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined)
