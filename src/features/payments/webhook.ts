/** `POST /stripe/webhook`: events of Stripe, accepted with its signature over the bytes that came. */
import type { FastifyPluginAsync } from 'fastify'
import type Stripe from 'stripe'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, PaymentId } from '../../domain/ids.ts'
import { ACCOUNT, PAYMENT, type PaymentDeps, settleIntent, settleSession } from './settle.ts'
import { findPayment } from './store.ts'
import { stripeError } from './stripe.ts'

/** Events are some kilobytes. */
const BODY_BYTES = 1_048_576
/** Age of a signature, in seconds. */
const TOLERANCE_SECONDS = 300

const schema = {
  hide: true, // Stripe calls it, clients do not
}

export function stripeWebhookRoute(deps: PaymentDeps): FastifyPluginAsync {
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES }, (_request, body, done) => {
      done(null, body)
    })
    app.post('/stripe/webhook', { schema, bodyLimit: BODY_BYTES }, async (request) => {
      const client = await deps.stripe.client()
      const event = verified(deps, client, request.body, request.headers['stripe-signature'])
      await settleEvent(deps, event)
      return { received: true }
    })
  }
}

function verified({ stripe }: PaymentDeps, client: Stripe, body: unknown, signature: unknown): Stripe.Event {
  try {
    if (!Buffer.isBuffer(body) || typeof signature !== 'string') throw new Error('Body or signature is missing.')
    return client.webhooks.constructEvent(body, signature, stripe.settings.webhook_secret, TOLERANCE_SECONDS)
  } catch (error) {
    throw new GatewayError('invalid_value', 'The signature does not match the event.', {
      param: 'stripe-signature',
      cause: error,
    })
  }
}

/** What events of payments, charges, refunds, disputes and sessions have in common. */
interface EventObject {
  readonly object: string
  readonly id: string
  readonly payment_intent?: string | { readonly id: string } | null
  readonly metadata?: Readonly<Record<string, string>> | null
}

/** Ignores types that say nothing of payments. */
async function settleEvent(deps: PaymentDeps, event: Stripe.Event): Promise<void> {
  const object = event.data.object as unknown as EventObject // its signature is Stripe's
  try {
    if (object.object === 'payment_intent') return await settleIntent(deps, object.id)
    const intent = object.payment_intent
    if (intent) return await settleIntent(deps, typeof intent === 'string' ? intent : intent.id)
    if (object.object === 'checkout.session') await settleExpired(deps, object)
  } catch (error) {
    // Of another installation with the same account at Stripe, or deleted there: a repetition finds nothing either.
    if (stripeError(error)?.code !== 'resource_missing') throw error
  }
}

async function settleExpired(deps: PaymentDeps, { metadata }: EventObject): Promise<void> {
  const accountId = metadata?.[ACCOUNT] as AccountId | undefined
  const id = metadata?.[PAYMENT] as PaymentId | undefined
  if (accountId === undefined || id === undefined) return
  const payment = await findPayment(deps.db, { accountId, id })
  if (payment !== undefined) await settleSession(deps, payment)
}
