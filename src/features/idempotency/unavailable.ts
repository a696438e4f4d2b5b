import { GatewayError } from '../../domain/errors.ts'

/** Whether a repeat may mend it. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'database_unavailable'
}
