import type { UpstreamExchange, UpstreamHead } from '../provider.ts'

/** A piece of the body, and how long it takes until it is there. */
export interface Step {
  readonly afterMs: number
  readonly text: string
}

/** How a body ends: in order, by a broken connection, or never. */
export type Ending = 'end' | 'cut' | 'stall'

export interface Script {
  readonly headAfterMs: number
  /** Or how it ends before there is one. */
  readonly head: UpstreamHead | Exclude<Ending, 'end'>
  readonly body: Iterator<Step, Ending>
}

/** What is ready at once is read at once, up to about this much. */
const READ_CHARACTERS = 16_384

interface Play {
  readonly script: Script
  next: IteratorResult<Step, Ending> | undefined
  failure: Error | undefined
  /** Ends the wait that is under way. */
  cancel: ((failure: Error) => void) | undefined
}

/** Plays a script as if it came from a network. */
export function perform(script: Script): UpstreamExchange {
  const play: Play = { script, next: undefined, failure: undefined, cancel: undefined }
  const head = playHead(play)
  head.catch(() => {}) // an exchange may be aborted before anybody asks for its head
  return {
    head,
    read: async () => {
      await head
      return await readBody(play)
    },
    abort: () => {
      play.failure ??= new Error('The call was aborted.')
      play.cancel?.(play.failure)
    },
  }
}

async function playHead(play: Play): Promise<UpstreamHead> {
  const { head, headAfterMs } = play.script
  await wait(play, headAfterMs)
  if (head === 'stall') await wait(play, Number.POSITIVE_INFINITY)
  if (head === 'cut' || head === 'stall') throw broken()
  return head
}

async function readBody(play: Play): Promise<Uint8Array | undefined> {
  if (play.failure !== undefined) throw play.failure
  const first = peek(play)
  if (first.done === true) return await endBody(play, first.value)
  await wait(play, first.value.afterMs)
  let text = take(play)
  for (let next = peek(play); next.done !== true && next.value.afterMs === 0; next = peek(play)) {
    if (text.length > READ_CHARACTERS) break
    text += take(play)
  }
  return Buffer.from(text)
}

async function endBody(play: Play, ending: Ending): Promise<undefined> {
  if (ending === 'stall') await wait(play, Number.POSITIVE_INFINITY)
  if (ending === 'cut') throw broken()
  return undefined
}

function peek(play: Play): IteratorResult<Step, Ending> {
  play.next ??= play.script.body.next()
  return play.next
}

function take(play: Play): string {
  const { value, done } = peek(play)
  if (done === true) return ''
  play.next = undefined
  return value.text
}

/** Rejects as soon as the exchange is aborted. Also no time at all is a turn of the event loop. */
async function wait(play: Play, ms: number): Promise<void> {
  if (play.failure !== undefined) throw play.failure
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stopTimer = startTimer(ms, resolve)
  play.cancel = (failure) => {
    stopTimer()
    reject(failure)
  }
  await promise
  play.cancel = undefined
}

function startTimer(ms: number, done: () => void): () => void {
  if (ms === Number.POSITIVE_INFINITY) return () => {}
  if (ms > 0) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  }
  const immediate = setImmediate(done)
  return () => clearImmediate(immediate)
}

function broken(): Error {
  return new Error('The simulator broke the connection.')
}
