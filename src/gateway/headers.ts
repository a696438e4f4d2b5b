import { limitHeaders } from '../domain/limits.ts'
import type { Completion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'

/** What a completion's head tells beside its body. */
export function completionHeaders(completion: Completion, { clock }: GatewayPorts): Record<string, string> {
  const headers = limitHeaders(completion.admission)
  const { target, attempts, answering, upstreamMs, receivedAt } = completion
  if (target !== undefined) headers['x-turnpike-provider'] = target.upstream.name
  headers['x-turnpike-attempts'] = String(attempts)
  headers['x-turnpike-overhead-ms'] = Math.max(0, clock() - receivedAt - upstreamMs).toFixed(3)
  const warnings = answering?.calls[0]?.warnings
  if (warnings !== undefined && warnings.length > 0) headers['x-turnpike-warnings'] = warnings.join(', ')
  return headers
}
