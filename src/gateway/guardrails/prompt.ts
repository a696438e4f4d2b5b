/** Applies guardrails to a request before it is parsed, routed or charged: masks its texts, or rejects it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChatRequest } from '../../domain/chat.ts'
import { replaceTexts } from '../../domain/guardrails/body-texts.ts'
import { blocked, blockedBy, type Guard } from '../../domain/guardrails/guard.ts'
import { createMasker } from '../../domain/guardrails/matcher.ts'
import type { HookQuestion, HttpRule, NamedRule } from '../../domain/guardrails/rule.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { RequestTrace } from '../../domain/trace.ts'
import { isRecord, textOf } from '../../lib/json.ts'

export interface GuardedBody {
  /** The same object if nothing was masked. */
  readonly body: unknown
  /** The number of masked texts. */
  readonly masked: number
}

interface Guarded {
  readonly body: unknown
  readonly caller: Caller
  readonly requestId: string
  /** Undefined if the request is not traced. */
  readonly trace?: Pick<RequestTrace, 'context'> | undefined
}

/**
 * Masks the texts of a prompt. Rejects with `content_blocked`. Large prompts are read in pieces, so that other
 * requests run in between.
 */
export async function guardPrompt(guard: Guard, { body, caller, requestId, trace }: Guarded): Promise<GuardedBody> {
  const texts = textsOf(body)
  checkLength(guard, texts)
  const masked = await maskAll(guard, body, texts)
  const hooked = await askHooks(guard, masked, {
    model: isRecord(body) ? textOf(body['model']) : '',
    caller,
    requestId,
    trace,
  })
  const changed = hooked.filter((text, position) => text !== texts[position]).length
  if (changed === 0) return { body, masked: 0 }
  let position = 0
  return { body: replaceTexts(body, (text) => hooked[position++] ?? text), masked: changed }
}

function textsOf(body: unknown): readonly string[] {
  const texts: string[] = []
  replaceTexts(body, (text) => {
    texts.push(text)
    return text
  })
  return texts
}

/** Returns the path of a text in the body. */
function pathAt(body: unknown, wanted: number): string | undefined {
  let position = 0
  let found: string | undefined
  replaceTexts(body, (text, path) => {
    if (position++ === wanted) found = path()
    return text
  })
  return found
}

function checkLength({ maxPrompt }: Guard, texts: readonly string[]): void {
  for (const { guardrail, rule } of maxPrompt) {
    const { kind, max_characters: most } = rule
    if (most === undefined) continue
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (length > most) throw blocked(guardrail, `the prompt has ${length} characters; the limit is ${most}.`, { kind })
  }
}

/** The characters that are read at a time. */
const PIECE = 64 * 1024

async function maskAll({ prompt }: Guard, body: unknown, texts: readonly string[]): Promise<readonly string[]> {
  if (prompt.length === 0) return texts
  const masked: string[] = []
  let read = 0
  for (const [position, text] of texts.entries()) {
    const masker = createMasker(prompt, (matcher) => {
      if (matcher.action === 'block') throw blockedBy(matcher, 'request', pathAt(body, position))
    })
    let result = ''
    for (let at = 0; at < text.length; at += PIECE) {
      result += masker.push(text.slice(at, at + PIECE))
      read += Math.min(PIECE, text.length - at)
      if (read < PIECE) continue
      read = 0
      await nextTurn()
    }
    masked.push(result + masker.flush())
  }
  return masked
}

interface Asked extends Omit<Guarded, 'body'> {
  readonly model: string
}

async function askHooks(guard: Guard, texts: readonly string[], { model, caller, requestId, trace }: Asked) {
  let current = texts
  const shared = { request_id: requestId, trace_id: trace?.context.traceId, key_id: caller.keyId, model }
  for (const named of guard.hooks.pre) {
    current = await askHook(guard, named, { stage: 'pre', ...shared, texts: current })
  }
  return current
}

/**
 * Applies the rules that need the parsed request.
 * @param promptTokens The expected prompt tokens.
 * @throws GatewayError `content_blocked`.
 */
export function checkGuarded({ tools, maxPrompt }: Guard, request: ChatRequest, promptTokens: number): void {
  for (const { guardrail, rule } of maxPrompt) {
    const { kind, max_tokens: most } = rule
    if (most === undefined || promptTokens <= most) continue
    throw blocked(guardrail, `the prompt has about ${promptTokens} tokens; the limit is ${most}.`, { kind })
  }
  if (tools.length === 0) return
  const names = toolNames(request)
  for (const { guardrail, rule } of tools) {
    const { kind, allowed } = rule
    const refused = names.find((name) => !allowed.includes(name))
    if (refused === undefined) continue
    throw blocked(guardrail, `the tool '${refused}' is not allowed.`, { kind, param: 'tools' })
  }
}

function toolNames({ tools = [], serverTools = [], native }: ChatRequest): readonly string[] {
  const own = [...tools.map((tool) => tool.function.name), ...serverTools.map(({ name }) => name)]
  const listed = native?.body['tools']
  if (!Array.isArray(listed)) return own
  // Tools that run at the provider and have no translation.
  return [...own, ...listed.filter(isRecord).map((tool) => textOf(tool['name']) || textOf(tool['type']))]
}

/**
 * @returns the texts as the hook leaves them. Rejects with `content_blocked`, also if a required hook did not answer.
 */
export async function askHook(
  { callHook }: Guard,
  named: NamedRule<HttpRule>,
  question: HookQuestion,
): Promise<readonly string[]> {
  const { texts, stage } = question
  if (texts.length === 0) return texts
  const { guardrail, rule } = named
  const side = stage === 'pre' ? 'request' : 'answer'
  const verdict = await callHook(named, question)
  if (verdict === undefined) {
    if (rule.fail === 'open') return texts
    throw blocked(guardrail, 'its hook did not answer, and the guardrail requires its verdict.', {
      kind: rule.kind,
      side,
    })
  }
  if (verdict.action === 'block') {
    throw blocked(guardrail, verdict.reason ?? 'its hook rejected the content.', { kind: rule.kind, side })
  }
  return verdict.action === 'mask' && rule.action === 'mask' ? (verdict.texts ?? texts) : texts
}
