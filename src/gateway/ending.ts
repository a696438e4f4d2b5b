/** The end of a request that broke off, streamed or not: what is charged for it, and what its client is told. */
import type { GatewayError } from '../domain/errors.ts'
import type { Completion } from './completion.ts'
import { toGatewayError } from './failure.ts'
import { completionHeaders } from './headers.ts'
import { endRun } from './idempotent.ts'
import type { GatewayPorts } from './ports.ts'
import { brokenStatus, priceBroken, settle } from './settle.ts'

/** Charges for what was used of an answer that broke off. @returns what the client is told. */
export async function endBroken(completion: Completion, ports: GatewayPorts, error: unknown): Promise<GatewayError> {
  completion.admission.release() // nothing runs any more; counting what it used may take a moment
  const settlement = completion.attempts === 0 ? undefined : await priceBroken(completion, ports)
  const reason = reasonOf(completion, ports, error)
  if (completion.run !== undefined) return await endRun(completion, ports, { reason, settlement })
  if (settlement !== undefined) void settle(completion, ports, { settlement, status: brokenStatus(completion) })
  return reason
}

export function reasonOf(completion: Completion, ports: GatewayPorts, error: unknown): GatewayError {
  const reason = completion.interruption ?? error
  return toGatewayError(reason, completion.target?.upstream.name, completionHeaders(completion, ports))
}
