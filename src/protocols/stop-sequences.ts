/** How many stop sequences a provider takes. */
import { GatewayError } from '../domain/errors.ts'

/** Throws 422 for more sequences than the provider takes: without one of them the answer would be another. */
export function checkStops(stop: readonly string[] | undefined, most: number): void {
  if (stop === undefined || stop.length <= most) return
  const message = `The provider of this model takes at most ${most} stop sequences, not ${stop.length}.`
  throw new GatewayError('unsupported_parameter', message, { param: 'stop' })
}
