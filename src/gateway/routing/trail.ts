/**
 * `x-turnpike-route`: which deployments a request was offered to, and why: a list in the manner of RFC 8941, written
 * only as far as something other than the first call happened.
 */

/**
 * `only`: the model has no other; `weight`: drawn; `load`: drawn second, with clearly less to do; `sticky`: had the
 * conversation before; `priority`: alone in the best one; `repeat`: called before; `fallback`: others failed or were
 * skipped; `probe`: tries one that was left alone; `last`: is left alone, but nothing else is left.
 */
export type Why = 'only' | 'weight' | 'load' | 'sticky' | 'priority' | 'repeat' | 'fallback' | 'probe' | 'last'
/** Why a better candidate was not called. */
export type SkipReason = 'open' | 'cooling' | 'full'

/** Of the whole header, in characters: clients refuse heads that are too long. */
export const MAX_ROUTE_LENGTH = 2 * 1024

/** `local;model="qwen3-coder"`. */
export function labelOf(provider: string, model: string): string {
  const name = /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(provider) ? provider : quoted(provider)
  return `${name};model=${quoted(model)}`
}

export function calledText(label: string, why: Why, outcome: string): string {
  return `${label};why=${why};outcome=${outcome}`
}

export function skippedText(label: string, reason: SkipReason): string {
  return `${label};skipped=${reason}`
}

/** The list with one more member, as long as there is room. */
export function withMember(list: string, member: string): string {
  if (list === '') return member
  return list.length + member.length + 2 > MAX_ROUTE_LENGTH ? list : `${list}, ${member}`
}

/** Strings of RFC 8941 are of printable ASCII; what is not is percent-encoded. */
function quoted(text: string): string {
  const printable = text.toWellFormed().replace(/[^\x20-\x7e]/gu, encodeURIComponent)
  return `"${printable.replace(/["\\]/g, '\\$&')}"`
}
