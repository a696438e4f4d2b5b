/** The mixed load of the soak: answers, streams, resumable streams, disconnecting clients, failing providers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'
import { bodyOf, CHAT_PATH, type Target } from './load.ts'

/** Kinds of requests, and their share in percent. */
const MIX = [
  ['whole', 60],
  ['stream', 20],
  ['kept', 5],
  ['leaves', 10],
  ['fails', 5],
] as const
type Kind = (typeof MIX)[number][0]

const MODELS: Readonly<Record<Kind, string>> = {
  whole: 'json',
  stream: 'paced-30',
  kept: 'paced-30',
  leaves: 'paced-300',
  fails: 'fails',
}
/** Clients disconnect at a random time up to this. */
const LEAVES_WITHIN_MS = 200

export interface SoakLoad {
  /** Returns the number of requests, and of those with an unexpected result. */
  readonly counts: () => { readonly requests: number; readonly wrong: number; readonly example: string | undefined }
  /** Runs at saturation with `inFlight` requests. @returns requests per second. */
  saturate(inFlight: number, seconds: number): Promise<number>
  /** Runs at a fixed rate until `until`, by `performance.now()`. Resolves when the last request has ended. */
  pace(perSecond: number, until: number): Promise<void>
  close(): Promise<void>
}

export function createSoakLoad(target: Target): SoakLoad {
  const agent = new Agent({ connections: 512, pipelining: 1, keepAliveTimeout: 4_000 })
  const state = { requests: 0, wrong: 0, example: undefined as string | undefined }
  const one = async (): Promise<void> => {
    state.requests += 1
    const fault = await send({ target, agent, kind: chosen(), number: state.requests }).catch(String)
    if (fault === undefined) return
    state.wrong += 1
    state.example ??= fault
  }
  return {
    counts: () => ({ ...state }),
    async saturate(inFlight, seconds) {
      const until = performance.now() + seconds * 1000
      const before = state.requests
      const sender = async (): Promise<void> => {
        while (performance.now() < until) await one()
      }
      await Promise.all(Array.from({ length: inFlight }, sender))
      return (state.requests - before) / seconds
    },
    async pace(perSecond, until) {
      const startedAt = performance.now()
      const running = new Set<Promise<void>>()
      for (let sent = 0; performance.now() < until; await sleep(5)) {
        const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond)
        for (; sent < due; sent++) {
          const each: Promise<void> = one().finally(() => running.delete(each))
          running.add(each)
        }
      }
      await Promise.all(running)
    },
    close: () => agent.destroy(),
  }
}

function chosen(): Kind {
  let left = Math.random() * 100
  for (const [kind, share] of MIX) {
    left -= share
    if (left < 0) return kind
  }
  return 'whole'
}

interface Sent {
  readonly target: Target
  readonly agent: Agent
  readonly kind: Kind
  readonly number: number
}

/** @returns the unexpected result; undefined if there is none. */
async function send({ target, agent, kind, number }: Sent): Promise<string | undefined> {
  const stream = kind !== 'whole' && kind !== 'fails'
  const leaving = new AbortController()
  const answer = request(`http://127.0.0.1:${target.port}${CHAT_PATH}`, {
    dispatcher: agent,
    method: 'POST',
    signal: leaving.signal,
    headers: {
      authorization: `Bearer ${target.key}`,
      'content-type': 'application/json',
      ...(kind === 'kept' ? { 'idempotency-key': `soak-${process.pid}-${number}` } : {}),
    },
    body: bodyOf({ model: MODELS[kind], stream }),
  })
  if (kind === 'leaves') return leave(answer, leaving)
  const { statusCode, body } = await answer
  const text = await body.text()
  if (kind === 'fails') return statusCode === 503 ? undefined : `${kind}: ${statusCode} ${text}`
  if (statusCode !== 200) return `${kind}: ${statusCode} ${text}`
  return !stream || (text.includes('[DONE]') && !text.includes('"error"')) ? undefined : `${kind}: ${text.slice(-300)}`
}

async function leave(answer: Promise<Dispatcher.ResponseData>, leaving: AbortController): Promise<undefined> {
  setTimeout(() => leaving.abort(), Math.random() * LEAVES_WITHIN_MS)
  await answer.then(({ body }) => body.dump({ limit: Number.MAX_SAFE_INTEGER })).catch(() => undefined)
}
