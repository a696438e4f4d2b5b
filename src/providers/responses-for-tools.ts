/**
 * Chat completions and the Responses API of one host, for models whose chat completions take tools without reasoning
 * alone. Responses has no stop sequences, penalties, predictions or several choices, so that it is called where tools and
 * reasoning meet, a tool runs at the host, or the client itself calls that API, and chat completions for all other requests.
 */
import type { ChatRequest } from '../domain/chat.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'

export function responsesForTools(chat: UpstreamProtocol, responses: UpstreamProtocol): UpstreamProtocol {
  const forRequest = (request: ChatRequest): UpstreamProtocol => (needsResponses(request) ? responses : chat)
  return {
    ...chat,
    forRequest,
    renderRequest: (request, target) => forRequest(request).renderRequest(request, target),
  }
}

function needsResponses(request: ChatRequest): boolean {
  const { tools = [], serverTools = [], reasoningEffort, native } = request
  if (native?.protocol === 'openai-responses') return true
  const reasonsWithTools = tools.length > 0 && reasoningEffort !== 'none'
  return (reasonsWithTools || serverTools.length > 0) && !needsChat(request)
}

function needsChat({ n, stop, prediction, modalities, logitBias, ...sampling }: ChatRequest): boolean {
  const { frequencyPenalty = 0, presencePenalty = 0 } = sampling
  return (
    n > 1 ||
    stop !== undefined ||
    prediction !== undefined ||
    modalities?.some((modality) => modality !== 'text') === true ||
    logitBias !== undefined ||
    frequencyPenalty !== 0 ||
    presencePenalty !== 0
  )
}
