/** A conversation line by line: questions, answers as they come, and a few commands. */
import { createInterface, type Interface } from 'node:readline/promises'
import type { AnswerEnd, Asking, Message } from './answer.ts'
import { dollars } from './money-text.ts'

export interface ConversationParts {
  readonly model: string
  readonly system: string | undefined
  /** Of a terminal: keys arrive as they are pressed. */
  readonly input: NodeJS.ReadableStream
  /** Prompts and notes. */
  readonly notes: NodeJS.WritableStream
  /** What the model says. */
  readonly answers: NodeJS.WritableStream
  readonly dim: (text: string) => string
  readonly ask: (asking: Asking) => Promise<AnswerEnd>
}

interface State {
  model: string
  system: string | undefined
  turns: Message[]
  /** Stops the answer that is being given. */
  stop: (() => void) | undefined
  /** Ctrl-C was the last thing that happened. */
  isLeaving: boolean
  isOpen: boolean
}

const HELP = `/exit            leaves; so do Ctrl-D, and Ctrl-C pressed twice
/model [ID]      shows the model, or takes another one
/system [TEXT]   tells the model first how to behave; without text, no longer
`

/** Ends when the person leaves. */
export async function converse(parts: ConversationParts): Promise<void> {
  const { input, notes, dim } = parts
  const state: State = {
    model: parts.model,
    system: parts.system,
    turns: [],
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
  notes.write(dim(`${state.model}; /help says what else there is\n`))
  lines.prompt()
  for await (const line of lines) {
    state.isLeaving = false
    const text = line.trim()
    if (text === '/exit') break
    if (text.startsWith('/')) notes.write(command(text, state))
    else if (text !== '') await turn(parts, state, line)
    if (!state.isOpen) break
    lines.prompt()
  }
  lines.close()
}

/** The first one stops the answer, or says how to leave; the second leaves. */
function interrupt(lines: Interface, state: State, notes: NodeJS.WritableStream): void {
  state.stop?.()
  if (state.isLeaving) {
    lines.close()
  } else if (state.stop === undefined) {
    notes.write('\n(Ctrl-C once more, or /exit, leaves.)\n')
    lines.prompt()
  }
  state.isLeaving = true
}

async function turn(parts: ConversationParts, state: State, question: string): Promise<void> {
  const { notes, answers, dim, ask } = parts
  const stopping = new AbortController()
  state.stop = () => stopping.abort()
  const asked: readonly Message[] = [...state.turns, { role: 'user', content: question }]
  let answer = ''
  try {
    const end = await ask({
      model: state.model,
      messages: state.system === undefined ? asked : [{ role: 'system', content: state.system }, ...asked],
      signal: stopping.signal,
      onText(text) {
        answer += text
        answers.write(text)
      },
    })
    if (answer !== '') state.turns = [...asked, { role: 'assistant', content: answer }]
    if (!answer.endsWith('\n')) answers.write('\n')
    notes.write(dim(`${summary(end)}\n`))
  } catch (error) {
    // the question is forgotten, so that it can be asked again
    notes.write(`${answer === '' ? '' : '\n'}${error instanceof Error ? error.message : String(error)}\n`)
  } finally {
    state.stop = undefined
  }
}

/** `12 + 34 tokens, $0.000123` */
export function summary({ finishReason, promptTokens, completionTokens, costUsd }: AnswerEnd): string {
  const parts: string[] = []
  if (finishReason === undefined) parts.push('stopped')
  if (finishReason === 'length') parts.push('cut at the longest answer there can be')
  if (finishReason === 'content_filter') parts.push('held back by a content filter')
  if (promptTokens !== undefined) parts.push(`${promptTokens} + ${completionTokens ?? 0} tokens`)
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
      return rest === '' ? 'The model is told nothing first.\n' : 'The model is told that first.\n'
    default:
      return `There is no /${name}.\n${HELP}`
  }
}
