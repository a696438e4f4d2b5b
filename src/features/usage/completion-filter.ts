/** What completions are asked for by, in the list and in the stream: all but when they began. */
import { type Static, Type } from 'typebox'
import type { CompletionStatus } from '../../domain/completion.ts'
import type { AgentId, KeyId } from '../../domain/ids.ts'
import type { CompletionFilter } from './completion-list.ts'
import { oneOf } from './wire-fields.ts'

export const STATUSES = [
  'completed',
  'failed',
  'client_left',
  'incomplete',
] as const satisfies readonly CompletionStatus[]

export const FILTER_QUERY = {
  model: Type.Optional(Type.String({ description: 'Only this model, by the ID in its rows.' })),
  key_id: Type.Optional(
    Type.String({ description: 'Only what was asked with this API key, device or session’s person.' }),
  ),
  status: Type.Optional(oneOf(STATUSES, { description: 'Only those that ended like this.' })),
  agent_id: Type.Optional(Type.String({ description: 'Only what this agent asked.' })),
  provider: Type.Optional(
    Type.String({ description: 'Only what this provider answered, by its name in the configuration.' }),
  ),
  client_request_id: Type.Optional(Type.String({ description: 'Only what the client called its request like this.' })),
}

export type UntimedFilter = Omit<CompletionFilter, 'period'>

const FilterQuery = Type.Object(FILTER_QUERY)

export function readUntimedFilter(query: Static<typeof FilterQuery>): UntimedFilter {
  const { model, key_id: keyId, status, agent_id: agentId, provider, client_request_id: clientRequestId } = query
  return {
    model,
    keyId: keyId as KeyId | undefined,
    status,
    agentId: agentId as AgentId | undefined,
    provider,
    clientRequestId,
  }
}
