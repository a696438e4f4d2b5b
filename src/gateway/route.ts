import type { ChatRequest } from '../domain/chat.ts'
import type { Model } from '../domain/model.ts'
import type { UpstreamProvider } from './ports.ts'
import { type Head, headOf } from './routing/affinity.ts'
import { type Candidate, candidatesOf, type Lane } from './routing/candidate.ts'
import type { Health } from './routing/health.ts'
import { orderCandidates } from './routing/order.ts'
import type { Why } from './routing/trail.ts'

export interface RouteInput {
  readonly provider: (name: string) => UpstreamProvider | undefined
  readonly health: Health
}

/** Where a request may go. */
export interface Route {
  /** Best first, at least one. */
  readonly targets: readonly Candidate[]
  /** Why the first one is. */
  readonly why: Why
  /** The credential that the first one is to be called with, where the conversation has one. */
  readonly lane: Lane | undefined
  /** Of the conversation; undefined where all its turns go to the same place anyway. */
  readonly head: Head | undefined
  /** What `x-turnpike-route` begins with: better ones that are left alone. */
  readonly skipped: string
}

export interface Routed {
  readonly accountId: string
  readonly model: Model
  readonly request: Pick<ChatRequest, 'model' | 'messages' | 'stream'>
}

/** Throws when none of the model's providers is configured. */
export function routeRequest({ accountId, model, request }: Routed, { provider, health }: RouteInput): Route {
  const { candidates, lanes, only } = candidatesOf(model, { provider, health })
  if (lanes === 1) return only
  const head = headOf({ accountId, request })
  const { stream } = request
  return { head, ...orderCandidates(candidates, { health, stream, head }) }
}
