/** The response head of a completion, and the error that its client gets. */
import type { GatewayError } from '../domain/errors.ts'
import { limitHeaders } from '../domain/limits.ts'
import { deprecationHeaders } from '../domain/model.ts'
import type { AttemptState, Completion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { calledText, withMember } from './routing/candidates.ts'
import { toGatewayError } from './upstream/failure.ts'

/** A list of warnings, in bytes: clients reject response heads that are too long. */
export const MAX_WARNINGS_BYTES = 2 * 1024

/** Headers of a completion beside those of its body. */
export function completionHeaders(
  { admitted, attempt, reservation }: Completion,
  { clock, now }: GatewayPorts,
): Record<string, string> {
  const { limits, model, receivedAt, request } = admitted
  const headers = limitHeaders(limits)
  if (model.deprecationDate !== undefined) Object.assign(headers, deprecationHeaders(model, now()))
  const { lease, answering, count, upstreamMs } = attempt
  if (lease !== undefined) headers['x-turnpike-provider'] = lease.target.upstream.name
  const route = routeText(attempt, admitted.route.skipped)
  if (route !== '') headers['x-turnpike-route'] = route
  headers['x-turnpike-attempts'] = String(count)
  headers['x-turnpike-overhead-ms'] = Math.max(0, clock() - receivedAt - upstreamMs).toFixed(3)
  const warnings = answering?.calls[0]?.warnings ?? NONE
  const { unheeded = NONE } = request
  if (reservation.lowered) headers['x-turnpike-warnings'] = warningsText(['max_tokens', ...unheeded, ...warnings])
  else if (unheeded.length + warnings.length > 0)
    headers['x-turnpike-warnings'] = warningsText([...unheeded, ...warnings])
  return headers
}

/** The candidates tried so far, and why. */
function routeText({ selection, lease }: AttemptState, skipped: string): string {
  const header = selection?.routeHeader ?? skipped
  if (lease === undefined || lease.listed) return header
  return withMember(header, calledText(lease.candidate.label, lease.why, lease.outcome))
}

/** The error that the client of a completion gets: why the gateway interrupted it, or else `error`, with its headers. */
export function clientError(completion: Completion, ports: GatewayPorts, error: unknown): GatewayError {
  const { cancellation, attempt } = completion
  const provider = attempt.lease?.target.upstream.name
  return toGatewayError(cancellation.interruption ?? error, provider, completionHeaders(completion, ports))
}

const NONE: readonly string[] = []

/**
 * Joins names with commas. A client may have chosen them, such as properties of a schema: characters that a header cannot
 * carry are percent-encoded, and names beyond the limit are counted.
 */
export function warningsText(names: readonly string[]): string {
  let text = ''
  for (const [position, name] of names.entries()) {
    const next = position === 0 ? headerText(name) : `${text}, ${headerText(name)}`
    if (next.length > MAX_WARNINGS_BYTES) return `${text}${text === '' ? '' : ', '}and ${names.length - position} more`
    text = next
  }
  return text
}

function headerText(name: string): string {
  return name.toWellFormed().replace(/[^\x21-\x2b\x2d-\x7e]/gu, encodeURIComponent)
}
