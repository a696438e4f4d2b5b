/**
 * Recordings behind the whole gateway: a provider that plays them, each under the dialect of the host it comes from,
 * and how a request says which one, and how its bytes are to come.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PROVIDERS } from '../../../src/providers/index.ts'
import { type Answer, CHAT, send } from '../client.ts'
import { model, startGateway } from '../gateway.ts'
import { type Script, startFakeProvider } from './fake-provider.ts'
import type { Recording } from './recordings.ts'

/** What the provider does with a recording's bytes. Without either, they come in one piece. */
export interface Play {
  /** Two writes, with a flush between them. */
  readonly splitAt?: number
  /** Ends there: as if that were all, or inside of it with FIN or RST. */
  readonly cut?: Cut
}
export interface Cut {
  readonly at: number
  readonly how: 'end' | 'fin' | 'reset'
}

export interface Ask extends Play {
  /** Whether the client wants a stream. As recorded by default. */
  readonly stream?: boolean
  /** How many choices the client wants; 1 by default. */
  readonly choices?: number
  /** Asks a model that is not known to stream. */
  readonly cannotStream?: boolean
}

export interface Replay {
  ask(recording: Recording, ask?: Ask): Promise<Answer>
  /** The gateway's name of the model that answers with it. */
  modelOf(recording: Recording, cannotStream?: boolean): string
  stop(): Promise<void>
}

/** What hosts need to be told beside the address. */
const SETTINGS: Readonly<Record<string, object>> = {
  gemini: { kind: 'google' },
  vertex: { kind: 'vertex', project: 'project-1', region: 'us-central1' },
  bedrock: { kind: 'bedrock', region: 'us-east-1', api_key: 'AKIDEXAMPLE:secret' },
  'own-anthropic-messages': { kind: 'anthropic' },
  'own-gemini-generatecontent': { kind: 'google' },
  'own-bedrock-converse': { kind: 'bedrock', region: 'us-east-1', api_key: 'AKIDEXAMPLE:secret' },
}

function settingsOf(provider: string): object {
  return SETTINGS[provider] ?? (provider in PROVIDERS ? { kind: provider } : { protocol: 'openai' })
}

interface Playing extends Play {
  readonly recording: Recording
}

function playingScript(playing: readonly Playing[]): Script {
  return async ({ body }, reply) => {
    const number = /\bplay (\d+)\b/.exec(body)?.[1]
    const { recording, splitAt, cut } = playing[Number(number)] ?? missing()
    const { bytes, status, contentType, headers } = recording
    const length = splitAt === undefined && cut === undefined ? { 'content-length': String(bytes.length) } : {}
    reply.head(status, { ...headers, 'content-type': contentType, ...length })
    if (splitAt !== undefined) {
      await reply.write(bytes.subarray(0, splitAt))
      await new Promise((resolve) => setImmediate(resolve))
      return reply.end(bytes.subarray(splitAt))
    }
    if (cut === undefined) return reply.end(bytes)
    await reply.write(bytes.subarray(0, cut.at))
    if (cut.how === 'end') return reply.end()
    await sleep(5) // what was sent is on its way before the connection ends
    if (cut.how === 'fin') reply.cut()
    else reply.reset()
  }
}

function missing(): never {
  throw new Error('The request does not say what to play.')
}

export async function startReplay(recordings: readonly Recording[]): Promise<Replay> {
  const playing: Playing[] = []
  const provider = await startFakeProvider(playingScript(playing))
  const providers = [...new Set(recordings.map((recording) => recording.provider))]
  const gateway = await startGateway({
    config: {
      providers: Object.fromEntries(
        providers.map((name) => [
          `p-${name}`,
          { base_url: `${provider.url}/${name}`, api_key: 'k', ...settingsOf(name) },
        ]),
      ),
      models: modelsOf(recordings),
      plans: { test: { billing: 'postpaid' } },
      accounts: { default_plan: 'test' },
      routing: { max_attempts: 1, breaker: { failures: 1000 } },
    },
  })
  const key = await gateway.key()
  return {
    modelOf,
    ask(recording, { stream = recording.stream, choices = 1, cannotStream = false, ...play } = {}) {
      const number = playing.push({ recording, ...play }) - 1
      const messages = [{ role: 'user', content: `play ${number}${' word'.repeat(promptTokensIn(recording))}` }]
      const body = { model: modelOf(recording, cannotStream), messages, stream, n: choices }
      return send(gateway, CHAT, { key, body })
    },
    async stop() {
      await gateway.stop()
      await provider.close()
    },
  }
}

function modelOf({ provider, model: name }: Recording, cannotStream = false): string {
  return `${cannotStream ? 'whole' : 'model'}-${provider}-${name.replace(/[^\w.-]+/g, '-')}`
}

/** Two for each model that was recorded: as it is, and as one that cannot stream. */
function modelsOf(recordings: readonly Recording[]): readonly object[] {
  const models = new Map<string, object>()
  for (const recording of recordings) {
    const { provider, model: name } = recording
    for (const cannotStream of [false, true]) {
      const id = modelOf(recording, cannotStream)
      const full = model(id, `p-${provider}`, name || 'upstream')
      const capabilities = { ...(full['capabilities'] as object), streaming: !cannotStream }
      models.set(id, { ...full, capabilities, max_output_tokens: 16_000 })
    }
  }
  return [...models.values()]
}

/** The largest figure that the recording says of its prompt: the request must be long enough to have used it. */
function promptTokensIn(recording: Recording): number {
  const known = promptTokens.get(recording) ?? mostPromptTokens(recording)
  promptTokens.set(recording, known)
  return known
}

const promptTokens = new Map<Recording, number>()

function mostPromptTokens({ bytes }: Recording): number {
  const figure =
    /"(?:prompt_tokens|input_tokens|cache_\w*input_tokens|promptTokenCount|toolUsePromptTokenCount|\w*[iI]nputTokens)":\s*(\d{1,6})\b/g
  const found = [...bytes.toString('latin1').matchAll(figure)].map(([, tokens]) => Number(tokens))
  return Math.max(0, ...found)
}
