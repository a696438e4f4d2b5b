/** Requests that came by an API of another protocol than the host's: what of them the host cannot get. */
import type { ChatRequest } from '../domain/chat.ts'
import { unsupportedContent } from './parameters.ts'

const NOTHING: readonly string[] = []

/**
 * Returns the names of what is left out for a host of this protocol.
 * @throws GatewayError `unsupported_content` where the request would mean something else without it.
 */
export function lostInTranslation({ native }: ChatRequest, protocol: string): readonly string[] {
  if (native === undefined || native.protocol === protocol) return NOTHING
  const { essential, dropped } = native
  if (essential !== undefined) throw unsupportedContent(essential, `\`${essential}\``)
  return dropped
}
