/**
 * Every recording of every protocol through a fake provider and the whole gateway, as whole answers and as streams: what
 * a client receives must be what the recording says, read by readers that share nothing with the gateway, however the
 * network cuts the bytes. Where the recordings are: `TURNPIKE_RECORDINGS`, else `../shared/fixtures` beside the
 * project; without them our own answers run alone.
 * Runs on one database: what it tests is how protocols are spoken.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  assertBeginning,
  assertBrokenOff,
  assertFailure,
  assertMapped,
  assertStream,
  assertWhole,
} from '../support/providers/answer-checks.ts'
import { STREAM_CODES } from '../support/providers/recorded-errors.ts'
import {
  loadOwnRecordings,
  loadRecordings,
  RECORDINGS_FOLDER,
  type Recording,
  seeded,
} from '../support/providers/recordings.ts'
import { type Cut, startReplay } from '../support/providers/replay.ts'
import { frameEnds, readStream, readWhole, type Stream, type Whole } from '../support/readers.ts'

const SEED = 20_261_120
const RANDOM_SPLITS = 6
const IN_FLIGHT = 8
const WAYS = ['end', 'fin', 'reset'] as const

const recorded = loadRecordings()
const all = [...(recorded ?? []), ...loadOwnRecordings()]
/** Our own whose meaning hangs on a setting that no host of the registry has. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'own-openai-chat/usage-of-vendor.sse': 'its usage is in a field that only a codec option names; it runs in memory',
}
const recordings = all.filter(({ file }) => NOT_RUN[file] === undefined)
const replay = await startReplay(recordings)
after(() => replay.stop())

/** Runs the tasks, a few at a time. */
async function each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const runner = async (): Promise<void> => {
    for (const item of left) await run(item)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, runner))
}

/** Several choices are asked of hosts that give several; elsewhere each is a call of its own. */
function choicesOf({ protocol }: Recording, { choices }: Whole): number {
  return protocol === 'openai-chat' ? Math.max(1, Object.keys(choices).length) : 1
}

/** Without what differs from one request to the next, and without counts of ours, which depend on the prompt. */
function comparable(text: string, { usage }: Whole): string {
  const anonymous = text
    .replace(/"id":"chatcmpl-[^"]+"/g, '"id":"-"')
    .replace(/"created":\d+/g, '"created":0')
    .replace(/"request_id":"[^"]+"/g, '"request_id":"-"')
  const isCounted = usage?.promptTokens !== undefined && usage.completionTokens !== undefined
  return isCounted ? anonymous : anonymous.replace(/"usage":\{[^}]*\}/g, '"usage":{}')
}

/** Fewer tokens than the delivered text can be are not believed: here 7 for 200 words of reasoning. */
const CHARGED: Readonly<Record<string, NonNullable<Whole['usage']>>> = {
  'ollama/json-object.json': { completionTokens: 13 },
}

function asCharged<Read extends Whole>({ file }: Recording, read: Read): Read {
  const charged = CHARGED[file]
  return charged === undefined ? read : { ...read, usage: { ...read.usage, ...charged } }
}

/**
 * Of a long stream its beginning, its end, and some between: most of its frames are alike, and the tests of each protocol
 * split its recordings everywhere, in memory.
 */
const FRAMES_AT_EITHER_END = 4
const FRAMES_BETWEEN = 4

function sampled<Place>(places: readonly Place[], random: () => number): readonly Place[] {
  const between = places.slice(FRAMES_AT_EITHER_END, -FRAMES_AT_EITHER_END)
  if (between.length <= FRAMES_BETWEEN) return places
  const step = between.length / FRAMES_BETWEEN
  const chosen = Array.from({ length: FRAMES_BETWEEN }, (_, index) => Math.floor((index + random()) * step))
  return [
    ...places.slice(0, FRAMES_AT_EITHER_END),
    ...between.filter((_, index) => chosen.includes(index)),
    ...places.slice(-FRAMES_AT_EITHER_END),
  ]
}

function splitsOf(recording: Recording): number[] {
  const { length } = recording.bytes
  const random = seeded(SEED + length)
  const offsets = Array.from({ length: RANDOM_SPLITS }, () => 1 + Math.floor(random() * (length - 1)))
  const ends = frameEnds(recording).filter((end) => end < length)
  return [...sampled(ends, random), ...offsets]
}

interface FrameCut extends Cut {
  /** Where the last whole frame ends. */
  readonly wholeEnd: number
}

/** After a number of whole frames before the terminal one, somewhere inside of the frame that follows them. */
function cutsBefore(recording: Recording, limit: number): readonly FrameCut[] {
  const random = seeded(SEED + limit)
  const ends = frameEnds(recording)
  const starts = [0, ...ends].filter((start) => start < limit)
  const cuts = starts.map((wholeEnd, count) => {
    const next = Math.min(limit, ends[count] ?? recording.bytes.length)
    const room = Math.max(1, next - 1 - wholeEnd) // a frame is whole one byte before the end of its blank line
    return { wholeEnd, at: wholeEnd + Math.floor(random() * room), how: WAYS[count % WAYS.length] ?? 'end' }
  })
  return sampled(cuts, random)
}

async function runStream(recording: Recording): Promise<void> {
  const read = asCharged(recording, readStream(recording))
  const choices = choicesOf(recording, read)
  const model = replay.modelOf(recording)
  const whole = await replay.ask(recording, { choices })
  const isBroken = read.isError || read.terminalOffset === undefined
  if (isBroken) assertBrokenOff(whole, { model, code: STREAM_CODES[recording.file] ?? 'provider_error' })
  else assertStream(whole, model, read)
  await each(splitsOf(recording), async (splitAt) => {
    counts.splits++
    const { text, status } = await replay.ask(recording, { choices, splitAt })
    assert.equal(status, whole.status, `split at ${splitAt}`)
    if (status === 200) assert.equal(comparable(text, read), comparable(whole.text, read), `split at ${splitAt}`)
  })
  await runCuts(recording, read)
}

async function runCuts(recording: Recording, read: Stream): Promise<void> {
  const { terminalOffset, isError, strayOffset } = read
  const choices = choicesOf(recording, read)
  const model = replay.modelOf(recording)
  const limit = terminalOffset ?? errorOffset(recording)
  await each(cutsBefore(recording, limit), async ({ wholeEnd, ...cut }) => {
    counts.cuts++
    const answer = await replay.ask(recording, { choices, cut })
    assertBrokenOff(answer, { model, code: 'provider_error' })
    assertBeginning(answer, readStream(recording, wholeEnd), cut.how === 'end')
  })
  if (terminalOffset === undefined || (isError && strayOffset === undefined)) return
  const atTerminal = await replay.ask(recording, { choices, cut: { at: terminalOffset, how: 'end' } })
  const { isError: _, ...complete } = asCharged(recording, readStream(recording, terminalOffset))
  assertStream(atTerminal, model, { ...complete, isError: false })
}

/** Where the frame ends that makes an error of the stream, or the stream itself. */
function errorOffset(recording: Recording): number {
  const isBad = (end: number): boolean => readStream(recording, end).isError
  return frameEnds(recording).find(isBad) ?? recording.bytes.length
}

async function runWhole(recording: Recording): Promise<void> {
  const read = asCharged(recording, readWhole(recording))
  const choices = choicesOf(recording, read)
  const answer = await replay.ask(recording, { choices })
  const streamed = await replay.ask(recording, { choices, stream: true, cannotStream: true })
  if (read.isError) {
    for (const each of [answer, streamed]) assertFailure(each)
    return
  }
  assertWhole(answer, read)
  assertStream(streamed, replay.modelOf(recording, true), read)
  const { length } = recording.bytes.toString('utf8').trimEnd()
  const random = seeded(SEED + length)
  await each(WAYS, async (how) => {
    const at = 1 + Math.floor(random() * (length - 2))
    assertFailure(await replay.ask(recording, { choices, cut: { at, how } }))
    const split = await replay.ask(recording, { choices, splitAt: at })
    assert.equal(comparable(split.text, read), comparable(answer.text, read), `split at ${at}`)
  })
}

async function runError(recording: Recording): Promise<void> {
  for (const stream of [false, true]) assertMapped(await replay.ask(recording, { stream }), recording)
}

const counts = { splits: 0, cuts: 0 }
const ran = new Set<string>()
for (const recording of recordings) {
  const { file, status, stream } = recording
  const [run, promise] =
    status >= 300
      ? [runError, 'the error is mapped']
      : stream
        ? [runStream, 'the same however it is cut']
        : [runWhole, 'the answer is right, streamed too']
  test(`${file}: ${promise}`, async () => {
    await run(recording)
    ran.add(file)
  })
}

test('every recording ran', () => {
  const own = recordings.filter(({ provider }) => provider.startsWith('own-')).length
  const countOf = (isOwn: boolean): number => [...ran].filter((file) => file.startsWith('own-') === isOwn).length
  if (recorded === undefined) console.log(`recordings, whole gateway: not found in ${RECORDINGS_FOLDER}, 0 run`)
  else console.log(`recordings, whole gateway: ${countOf(false)} of ${recorded.length} run`)
  console.log(`recordings of our own, whole gateway: ${countOf(true)} of ${own + Object.keys(NOT_RUN).length} run`)
  console.log(`recordings, whole gateway: streams split at ${counts.splits} and cut at ${counts.cuts} places`)
  for (const [file, reason] of Object.entries(NOT_RUN))
    console.log(`recordings, whole gateway, not run: ${file}: ${reason}`)
  const failed = recordings.map(({ file }) => file).filter((file) => !ran.has(file))
  for (const file of failed) console.log(`recordings, whole gateway, failed: ${file}`)
  assert.deepEqual(failed, [])
})
