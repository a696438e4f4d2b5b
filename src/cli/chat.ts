/** `turnpike chat`: a conversation in the terminal; with something piped in, one question and its answer. */
import { text as readAll } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { type Message, streamAnswer } from './remote/answer.ts'
import { type Client, createClient } from './remote/client.ts'
import { converse } from './remote/conversation.ts'
import { firstForChat } from './remote/listed-models.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'
import { wrongUsage } from './wrong-usage.ts'

export interface ChatOptions extends TargetOptions {
  readonly model?: string
  readonly system?: string
}

export async function chat(argument: string | undefined, options: ChatOptions): Promise<void> {
  if (argument !== undefined && options.model !== undefined && argument !== options.model) {
    throw wrongUsage('the model is named twice: once as argument, once with --model.')
  }
  const client = createClient(await chooseTarget(options))
  const question = process.stdin.isTTY ? undefined : await readAll(process.stdin)
  if (question?.trim() === '') throw wrongUsage('nothing was asked: standard input is empty.')
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
  throw new Error(`${client.target.url} lists no model that you may chat with.`)
}

interface Single {
  readonly model: string
  readonly system: string | undefined
  readonly question: string
}

/** Standard output gets the answer and nothing else. */
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
  if (finishReason === 'length') process.stderr.write('The answer is cut at the longest there can be.\n')
}
