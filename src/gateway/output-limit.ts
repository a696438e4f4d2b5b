/**
 * How long an answer may be, decided before anything is held: the client's limit or the model's maximum. What is decided
 * here is held, and what is held is sent as the limit (`RenderTarget.outputTokens`).
 */
import type { ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import type { Candidate } from './routing/candidate.ts'

/** A request that names no limit is left so many tokens of the window at least, however long its prompt seems. */
const LEAST_ROOM = 4096

export interface OutputLimit {
  /** Of one choice. */
  readonly tokens: number
  /** Less than the client asked for, because the model's maximum is less. */
  readonly lowered: boolean
  /** Of one choice, that providers may count and charge beside `tokens`. */
  readonly reasoningTokens: number
}

export interface OutputPlanning {
  readonly request: ChatRequest
  readonly model: Model
  /** The upper bound of the prompt. */
  readonly promptTokens: number
  readonly targets: readonly Candidate[]
}

/** @throws GatewayError `invalid_value` for a limit above the model's maximum where every provider of it would refuse that. */
export function planOutput({ request, model, promptTokens, targets }: OutputPlanning): OutputLimit {
  const { contextWindow, maxOutputTokens: known } = model
  const { maxTokens: asked } = request
  const most = known ?? contextWindow
  const reasoningTokens = reasoningBeside(request, model, targets)
  if (asked === undefined) {
    const room = Math.max(contextWindow - promptTokens, LEAST_ROOM)
    return { tokens: Math.min(most, room), lowered: false, reasoningTokens }
  }
  if (asked <= most) return { tokens: asked, lowered: false, reasoningTokens }
  if (known !== undefined && targets.every(({ upstream }) => upstream.provider.outputLimit?.refusesMore === true)) {
    const message = `\`max_tokens\` must be at most ${known}, the longest answer of the model '${model.id}', not ${asked}.`
    throw new GatewayError('invalid_value', message, { param: 'max_tokens' })
  }
  return { tokens: most, lowered: true, reasoningTokens }
}

function reasoningBeside(request: ChatRequest, model: Model, targets: readonly Candidate[]): number {
  let most = 0
  for (const { upstream } of targets) {
    const tokens = upstream.provider.outputLimit?.reasoningOutside?.(request, model) ?? 0
    if (tokens > most) most = tokens
  }
  return Math.min(most, model.contextWindow)
}
