import { limitHeaders } from '../domain/limits.ts'
import type { Completion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { calledText, withMember } from './routing/trail.ts'

/** Of one list of warnings, in bytes: clients refuse heads that are too long. */
export const MAX_WARNINGS_BYTES = 2 * 1024

/** What a completion's head tells beside its body. */
export function completionHeaders(completion: Completion, { clock }: GatewayPorts): Record<string, string> {
  const headers = limitHeaders(completion.admission)
  const { target, attempts, answering, upstreamMs, receivedAt, lowered } = completion
  if (target !== undefined) headers['x-turnpike-provider'] = target.upstream.name
  const route = routeText(completion)
  if (route !== '') headers['x-turnpike-route'] = route
  headers['x-turnpike-attempts'] = String(attempts)
  headers['x-turnpike-overhead-ms'] = Math.max(0, clock() - receivedAt - upstreamMs).toFixed(3)
  const warnings = answering?.calls[0]?.warnings ?? NONE
  if (lowered) headers['x-turnpike-warnings'] = warningsText(['max_tokens', ...warnings])
  else if (warnings.length > 0) headers['x-turnpike-warnings'] = warningsText(warnings)
  return headers
}

/** The candidates tried so far, and why. */
function routeText({ passage, trail }: Completion): string {
  if (passage === undefined) return trail
  const { candidate, why, outcome } = passage
  return withMember(trail, calledText(candidate.label, why, outcome))
}

const NONE: readonly string[] = []

/**
 * The names with commas between them. They may be made of a client's own words, such as properties of a schema: what a
 * header cannot carry is percent-encoded, and what is too much is counted.
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
