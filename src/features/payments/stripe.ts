/** Stripe, through its official library, which is loaded with the first call. */
import type Stripe from 'stripe'
import { GatewayError } from '../../domain/errors.ts'

export interface StripeSettings {
  readonly secret_key: string
  readonly webhook_secret: string
  /** Another address of the API; undefined: Stripe's. */
  readonly api_url?: string
}

export interface StripeConnection {
  readonly settings: StripeSettings
  readonly client: () => Promise<Stripe>
}

/** Retries of one call after network errors, with the same idempotency key. */
const RETRIES = 2
const TIMEOUT_MS = 20_000

export function connectStripe(settings: StripeSettings): StripeConnection {
  let client: Promise<Stripe> | undefined
  return {
    settings,
    client: () => {
      client ??= import('stripe').then(({ default: Client }) => new Client(settings.secret_key, optionsOf(settings)))
      return client
    },
  }
}

function optionsOf({ api_url: apiUrl }: StripeSettings) {
  const options = { maxNetworkRetries: RETRIES, timeout: TIMEOUT_MS, telemetry: false }
  if (apiUrl === undefined) return options
  const { hostname, port, protocol } = new URL(apiUrl)
  const isTls = protocol === 'https:'
  return { ...options, host: hostname, port: port || (isTls ? 443 : 80), protocol: isTls ? 'https' : 'http' } as const
}

/** An error of Stripe's library, by its own type names. */
export function stripeError(error: unknown): { readonly type: string; readonly code: string | undefined } | undefined {
  if (!(error instanceof Error) || !('type' in error) || !String(error.type).startsWith('Stripe')) return undefined
  return { type: String(error.type), code: 'code' in error && error.code ? String(error.code) : undefined }
}

/** Converts errors of Stripe for a caller of the API. */
export async function asCaller<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (stripeError(error) === undefined) throw error
    throw new GatewayError('provider_error', 'The payment provider did not accept the request.', { cause: error })
  }
}
