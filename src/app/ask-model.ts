/**
 * How agents ask models: as any client does, through the gateway, with the rights of whoever asked for the run, looked up
 * anew for each call. Only that there is no connection: the answer is taken in memory.
 */

import { agentReference } from '../domain/agent.ts'
import type { Caller } from '../domain/caller.ts'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId, IdSource } from '../domain/ids.ts'
import { parseNanoUsd } from '../domain/money.ts'
import type { Creator } from '../features/agents/creator.ts'
import type { ModelOrder } from '../features/agents/worker/deps.ts'
import type { ClientConnection } from '../gateway/client.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import type { AskModel, ModelAnswer, ModelRequest, ToolCallMessage } from '../runner/ports.ts'

export interface AskModelInput {
  readonly complete: Gateway['complete']
  /** Rejects with `GatewayError` when they may no longer do anything here. */
  readonly callerOf: (accountId: AccountId, creator: Creator) => Promise<Caller>
  readonly ids: Pick<IdSource, 'request'>
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export function modelAsker({ complete, callerOf, ids, clock }: AskModelInput): (order: ModelOrder) => AskModel {
  return ({ accountId, agentId, runId, model, creator }) =>
    async (request, signal) => {
      const caller = await callerOf(accountId, creator)
      if (!caller.scopes.has('agents:write')) {
        throw new GatewayError(
          'insufficient_scope',
          "Whoever asked for this run does not have the right 'agents:write' any more.",
        )
      }
      signal.throwIfAborted()
      const asked = {
        caller,
        body: bodyOf(model, request),
        requestId: ids.request(),
        clientRequestId: agentReference(agentId, runId),
        idempotencyKey: undefined,
        receivedAt: clock(),
      }
      return readAnswer(await answered((client) => complete(asked, client), signal))
    }
}

/**
 * The body of a whole answer. The client leaves when the signal is aborted, and does not wait for what becomes of its call,
 * which may be read to its end for the exact usage.
 */
async function answered(
  complete: (client: ClientConnection) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let body = ''
  let leave = (): void => undefined
  const abort = (): void => {
    leave()
    reject(signal.reason)
  }
  signal.addEventListener('abort', abort, { once: true })
  const client: ClientConnection = {
    onLeave(listener) {
      leave = listener
      if (signal.aborted) listener()
    },
    streaming: () => false,
    expectStream: () => undefined,
    write: () => undefined,
    endStream: () => undefined,
    sendJson(text) {
      body = text
    },
  }
  complete(client).then(() => resolve(body), reject)
  return promise.finally(() => signal.removeEventListener('abort', abort))
}

function bodyOf(model: string, { messages, tools, maxTokens }: ModelRequest): object {
  return {
    model,
    messages,
    ...(tools.length > 0 ? { tools } : {}),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  }
}

/** As `gateway/deliver-whole.ts` has written it. */
interface Answered {
  readonly id: string
  readonly choices: readonly {
    readonly finish_reason: string
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly ToolCallMessage[] }
  }[]
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost: number }
}

function readAnswer(text: string): ModelAnswer {
  const json = parseJson(text)
  if (!isRecord(json)) throw new Error('The gateway gave no answer.')
  const { id, choices, usage } = json as unknown as Answered // our own
  const [choice] = choices
  if (choice === undefined) throw new Error('The gateway gave an answer without a choice.')
  const { content, tool_calls: calls } = choice.message
  const costNanoUsd = parseNanoUsd(usage.cost)
  if (costNanoUsd === undefined) throw new Error('The gateway gave an answer without a cost.')
  return {
    message: { role: 'assistant', content, ...(calls === undefined ? {} : { tool_calls: calls }) },
    finishReason: choice.finish_reason,
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    costNanoUsd,
    completionId: id,
  }
}
