/**
 * The loop of an agent, between a model and a sandbox: ask, run what the model calls, tell it what came of it, until it
 * says that it is done. What it may cost and how long it may go on is checked before each call.
 */
import type { AgentMessage, ModelAnswer, ModelRequest } from '../ports.ts'
import { type ReadAnswer, readAnswer } from './answer.ts'
import { askPatiently, TooLong } from './asking.ts'
import { runCalls } from './calls.ts'
import { mended } from './conversation.ts'
import { MAX_IDLE_ANSWERS, MAX_TEXT_BYTES } from './limits.ts'
import { type LoopEnding, LoopFailure, type LoopInput, type LoopUsage } from './loop.ts'
import { createMemory } from './memory.ts'
import { tidy } from './plain-text.ts'
import { EMPTY_NUDGE, FILTER_NUDGE, LENGTH_NUDGE, NUDGE } from './prompt.ts'
import { createRepeats } from './repeats.ts'
import { goOn, summaryText, type Work } from './work.ts'

/** Rejects with what `record`, `followUps` or the sandbox reject with, unless the signal is aborted. */
export async function runLoop(input: LoopInput): Promise<LoopEnding> {
  try {
    const work = begin(input)
    while (true) {
      const summary = await step(work)
      if (summary === undefined) continue
      goOn(work)
      if ((await takeFollowUps(work)) > 0) continue
      return { kind: 'completed', summary }
    }
  } catch (error) {
    if (input.signal.aborted) return { kind: 'cancelled' }
    if (error instanceof LoopFailure) return { kind: 'failed', code: error.code, message: error.message }
    throw error
  }
}

function begin(input: LoopInput): Work {
  const conversation = mended(input.conversation).map((each) =>
    each.role === 'user' ? userMessage(each.content) : each,
  )
  const calls = conversation.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  return {
    input,
    memory: createMemory(conversation, input.model),
    repeats: createRepeats(),
    callIds: new Set(calls.map(({ id }) => id)),
    steps: input.used?.steps ?? 0,
    costNanoUsd: input.used?.costNanoUsd ?? 0n,
    idle: 0,
    said: '',
    fullWorkspace: 0,
  }
}

/** @returns The summary when the model is done. */
async function step(work: Work): Promise<string | undefined> {
  work.input.signal.throwIfAborted()
  await takeFollowUps(work)
  if (work.steps >= work.input.limits.maxSteps) {
    throw new LoopFailure('max_steps', `It did not finish within ${work.input.limits.maxSteps} steps.`)
  }
  const given = await askForStep(work)
  const answer = readAnswer(given, work.callIds)
  work.steps += 1
  const usage = charge(work, given)
  if (answer.message === undefined) {
    await work.input.record({ type: 'usage', usage })
    return idleAnswer(work, answer)
  }
  work.memory.answered(answer.message, given.promptTokens)
  await work.input.record({ type: 'answer', message: answer.message, usage })
  return answer.calls.length > 0 ? await runCalls(work, answer) : idleAnswer(work, answer)
}

async function askForStep(work: Work): Promise<ModelAnswer> {
  while (true) {
    await makeRoom(work)
    try {
      return await askWithinCost(work, work.memory.request())
    } catch (error) {
      if (!(error instanceof TooLong)) throw error
      if (!work.memory.tooLong()) throw new LoopFailure('provider_error', error.message, { cause: error })
    }
  }
}

async function makeRoom(work: Work): Promise<void> {
  const { memory, input } = work
  const cut = memory.makeRoom()
  if (cut === undefined) return
  const notes = await askForNotes(work, memory.notesRequest(cut))
  const message = memory.replace(cut, notes?.text ?? '')
  const entry = { type: 'summary' as const, message, kept: cut.kept }
  await input.record(notes === undefined ? entry : { ...entry, usage: notes.usage })
}

/** Undefined when even that was too long: then the loop keeps notes of its own. */
async function askForNotes(work: Work, request: ModelRequest): Promise<{ text: string; usage: LoopUsage } | undefined> {
  try {
    const answer = await askWithinCost(work, request)
    return { text: tidy(answer.message.content ?? '', MAX_TEXT_BYTES), usage: charge(work, answer) }
  } catch (error) {
    if (error instanceof TooLong) return undefined
    throw error
  }
}

async function askWithinCost(work: Work, request: ModelRequest): Promise<ModelAnswer> {
  const { maxCostNanoUsd } = work.input.limits
  if (maxCostNanoUsd !== undefined && work.costNanoUsd >= maxCostNanoUsd) {
    throw new LoopFailure('max_cost', 'It has cost what it may cost.')
  }
  return await askPatiently(request, work.input)
}

function charge(work: Work, answer: ModelAnswer): LoopUsage {
  work.costNanoUsd += answer.costNanoUsd
  const { completionId, promptTokens, completionTokens, costNanoUsd } = answer
  const total = { steps: work.steps, costNanoUsd: work.costNanoUsd }
  return { completionId, promptTokens, completionTokens, costNanoUsd, total }
}

/** An answer without a call. Text is asked about once; then the longer of both is the summary: the other says little. */
function idleAnswer(work: Work, { text, finishReason }: ReadAnswer): string | undefined {
  work.idle += 1
  const isWhole = finishReason !== 'length' && finishReason !== 'content_filter'
  if (isWhole && text !== '' && work.idle > 1) return summaryText(text.length >= work.said.length ? text : work.said)
  if (isWhole) work.said = text
  if (work.idle >= MAX_IDLE_ANSWERS) {
    const reason = REASONS[finishReason] ?? 'they are empty'
    throw new LoopFailure('provider_error', `The model’s answers bring nothing: ${reason}.`)
  }
  work.memory.add({ role: 'user', content: NUDGES[finishReason] ?? (text === '' ? EMPTY_NUDGE : NUDGE) })
  return undefined
}

const NUDGES: Readonly<Record<string, string>> = { length: LENGTH_NUDGE, content_filter: FILTER_NUDGE }
const REASONS: Readonly<Record<string, string>> = {
  length: 'they end where their length does',
  content_filter: 'the provider’s content filter stops them',
}

/** @returns How many there were. */
async function takeFollowUps({ input, memory }: Work): Promise<number> {
  const texts = await input.followUps()
  for (const text of texts) memory.add(userMessage(text))
  return texts.length
}

function userMessage(text: string): AgentMessage {
  return { role: 'user', content: tidy(text, MAX_TEXT_BYTES) }
}
