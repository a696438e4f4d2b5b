/** Asks the model, waits where waiting helps, and says in a run's own words why it does not. */
import type { RunError } from '../../domain/agent.ts'
import { type ErrorCode, GatewayError } from '../../domain/errors.ts'
import type { ModelAnswer, ModelRequest } from '../ports.ts'
import { MAX_FAILURES, MAX_WAIT_MS } from './limits.ts'
import { LoopFailure, type LoopInput } from './loop.ts'
import { plainText } from './plain-text.ts'

const FIRST_WAIT_MS = 1_000

/** The conversation is longer than the provider takes, whatever we have reckoned. */
export class TooLong extends Error {
  override readonly name = 'TooLong'
}

type Asking = Pick<LoopInput, 'ask' | 'signal' | 'random' | 'sleep'>

/** Throws `LoopFailure` and `TooLong`. */
export async function askPatiently(request: ModelRequest, asking: Asking): Promise<ModelAnswer> {
  for (let failures = 1; ; failures++) {
    try {
      return await asking.ask(request, asking.signal)
    } catch (error) {
      asking.signal.throwIfAborted()
      if (!(error instanceof GatewayError)) throw error
      if (error.code === 'context_length_exceeded' || error.code === 'body_too_large') {
        throw new TooLong(error.message, { cause: error })
      }
      if (!error.retryable || failures >= MAX_FAILURES) throw failureOf(error)
      await asking.sleep(waitMs(error, failures, asking.random()), asking.signal)
    }
  }
}

/** As long as we are asked to, else longer each time; never in step with others. */
function waitMs({ retryAfterMs }: GatewayError, failures: number, chance: number): number {
  const asked = retryAfterMs ?? FIRST_WAIT_MS * 2 ** (failures - 1)
  return Math.min(MAX_WAIT_MS, Math.round(asked * (1 + chance / 4)))
}

const RUN_ERROR_OF: Partial<Record<ErrorCode, RunError>> = {
  rate_limit_exceeded: 'rate_limited',
  internal_error: 'internal_error',
  database_unavailable: 'internal_error',
  model_not_found: 'model_unavailable',
  model_not_priced: 'model_unavailable',
  unsupported_parameter: 'model_unavailable',
  unsupported_content: 'model_unavailable',
  provider_credentials: 'provider_error',
}

function failureOf(error: GatewayError): LoopFailure {
  return new LoopFailure(runError(error), plainText(error.message), { cause: error })
}

function runError({ code, status }: GatewayError): RunError {
  if (status === 402) return 'insufficient_credit'
  if (status === 401 || status === 403) return 'model_unavailable'
  return RUN_ERROR_OF[code] ?? 'provider_error'
}
