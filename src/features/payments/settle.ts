/**
 * Brings the ledger to what Stripe says of a payment now. Its events arrive at `POST /stripe/webhook` and only name
 * the payment: its state is asked for, so that duplicate, late and reordered events, and a repetition after a crash,
 * end in the same entries. Each movement has a key in the ledger, which enters it once.
 */

import type { FastifyPluginAsync } from 'fastify'
import type { Kysely } from 'kysely'
import type Stripe from 'stripe'
import type { Database, PaymentTable } from '../../db/schema/schema.ts'
import type { CreditedAccount, EnteredKind } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, PaymentId } from '../../domain/ids.ts'
import { type NanoUsd, usdText } from '../../domain/money.ts'
import type { WriteAudit } from '../deps.ts'
import { changePaymentAccount, endPayment, findPayment } from './store.ts'

/** The ledger. Implemented by `features/credit`. */
export interface EntryPort {
  /** Enters a row once for each key. */
  enter(account: CreditedAccount, entry: LedgerEntry, key: string): Promise<{ readonly isReplay: boolean }>
}

interface LedgerEntry {
  readonly kind: EnteredKind
  readonly nanoUsd: NanoUsd
  readonly note: string
  readonly adjusts: undefined
}

export interface PaymentDeps {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly credit: EntryPort
  readonly writeAudit: WriteAudit
  readonly stripe: StripeConnection
  readonly log: { warn(fields: object, message: string): void }
}

/** What the metadata of Stripe's objects names a payment by. */
export const ACCOUNT = 'turnpike_account'
export const PAYMENT = 'turnpike_payment'

export const NANO_USD_PER_CENT = 10_000_000n
/** All refunds, and all disputes, of a payment: the most that Stripe's library collects. */
const ALL = { limit: 10_000 }

interface Movement {
  readonly kind: EnteredKind
  readonly cents: number
  readonly note: string
}

/** Does nothing for a payment that is not of this installation. Rejects when Stripe or the database cannot be reached. */
export async function settleIntent(deps: PaymentDeps, intentId: string): Promise<void> {
  const client = await deps.stripe.client()
  const intent = await client.paymentIntents.retrieve(intentId, { expand: ['payment_method'] })
  const accountId = intent.metadata[ACCOUNT] as AccountId | undefined
  const id = intent.metadata[PAYMENT] as PaymentId | undefined
  if (accountId === undefined || id === undefined) return
  const payment = await findPayment(deps.db, { accountId, id })
  if (payment === undefined) return
  if (intent.currency !== 'usd') {
    deps.log.warn({ account: accountId, payment: id, intent: intentId }, 'a payment is not in USD; it is not credited')
    return
  }
  if (intent.status === 'succeeded') await settlePaid(deps, payment, intent)
  else if (intent.status === 'canceled' || (payment.kind === 'recharge' && isRefused(intent)))
    await failPayment(deps, payment, intent.last_payment_error?.code ?? intent.status)
}

function isRefused({ status }: Stripe.PaymentIntent): boolean {
  return status === 'requires_payment_method' || status === 'requires_action'
}

async function settlePaid(deps: PaymentDeps, payment: PaymentTable, intent: Stripe.PaymentIntent): Promise<void> {
  const reference = { accountId: payment.account_id, id: payment.id }
  const client = await deps.stripe.client()
  const note = `Stripe payment ${intent.id}`
  await enter(deps, payment, { kind: 'purchase', cents: intent.amount_received, note })
  if (payment.status !== 'succeeded') {
    if (payment.saves_method === 1) await saveMethod(deps, payment.account_id, intent)
    await endPayment(deps.db, reference, { status: 'succeeded', error: null, intent_id: intent.id, ended: deps.now() })
  }
  const query = { payment_intent: intent.id, limit: 100 }
  const refunds = await client.refunds.list(query).autoPagingToArray(ALL)
  const disputes = await client.disputes.list(query).autoPagingToArray(ALL)
  const movements = [...refunds.flatMap(movementsOfRefund), ...disputes.flatMap(movementsOfDispute)]
  for (const movement of movements) await enter(deps, payment, movement)
}

/** A refund that failed after it was deducted is returned: both entries are made, in whatever order events arrive. */
function movementsOfRefund({ id, amount, status }: Stripe.Refund): readonly Movement[] {
  const taken: Movement = { kind: 'debit', cents: amount, note: `Stripe refund ${id}` }
  if (status === 'succeeded' || status === 'pending' || status === 'requires_action') return [taken]
  return [taken, { kind: 'refund', cents: amount, note: `Stripe refund ${id} ${status}` }]
}

const WITHDRAWN: ReadonlySet<string> = new Set(['needs_response', 'under_review', 'lost'])

/** An inquiry (`warning_…`) moves no money. */
function movementsOfDispute({ id, amount, status }: Stripe.Dispute): readonly Movement[] {
  const taken: Movement = { kind: 'debit', cents: amount, note: `Stripe dispute ${id}` }
  if (WITHDRAWN.has(status)) return [taken]
  return status === 'won' ? [taken, { kind: 'refund', cents: amount, note: `Stripe dispute ${id} won` }] : []
}

/** The note names Stripe's object and is the key of the entry. */
async function enter(deps: PaymentDeps, payment: PaymentTable, { kind, cents, note }: Movement): Promise<void> {
  if (cents <= 0) return
  const { account_id: accountId } = payment
  const account = await deps.db
    .selectFrom('account')
    .select(['id', 'plan'])
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (account === undefined) return
  const nanoUsd: NanoUsd = BigInt(cents) * NANO_USD_PER_CENT
  const { isReplay } = await deps.credit.enter(account, { kind, nanoUsd, note, adjusts: undefined }, note)
  if (isReplay) return
  await deps.writeAudit(deps.db, {
    accountId,
    actor: { kind: 'system', id: undefined, name: 'Stripe' },
    action: kind === 'debit' ? 'credit.taken' : 'credit.given',
    subject: payment.id,
    result: 'done',
    address: undefined,
    userAgent: undefined,
    requestId: undefined,
    details: { kind, usd: usdText(nanoUsd), note },
  })
}

async function saveMethod({ db, now }: PaymentDeps, accountId: AccountId, intent: Stripe.PaymentIntent): Promise<void> {
  const method = intent.payment_method
  if (method === null || typeof method === 'string') return
  await changePaymentAccount(db, accountId, {
    payment_method_id: method.id,
    card_brand: method.card?.brand ?? method.type,
    card_last4: method.card?.last4 ?? null,
    recharge_error: null,
    changed_at: now(),
  })
}

/** A recharge that failed is not tried again until the customer changes the settings: each attempt may cost a fee. */
export async function failPayment(
  { db, now }: Pick<PaymentDeps, 'db' | 'now'>,
  { account_id: accountId, id, kind }: Pick<PaymentTable, 'account_id' | 'id' | 'kind'>,
  error: string,
): Promise<void> {
  // The account first: once no recharge is pending, another process may begin one.
  if (kind === 'recharge') await changePaymentAccount(db, accountId, { recharge_error: error, changed_at: now() })
  await endPayment(db, { accountId, id }, { status: 'failed', error, ended: now() })
}

/** Ends a top-up whose page has expired. */
export async function settleSession(deps: PaymentDeps, payment: PaymentTable): Promise<void> {
  if (payment.session_id === null) return
  const session = await (await deps.stripe.client()).checkout.sessions.retrieve(payment.session_id)
  const { payment_intent: intent, status } = session
  if (intent !== null) await settleIntent(deps, typeof intent === 'string' ? intent : intent.id)
  if (status === 'expired') await failPayment(deps, payment, 'expired')
}

/* `POST /stripe/webhook`: events of Stripe, accepted with its signature over the bytes that came. */

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

/* Stripe, through its official library, which is loaded with the first call. */

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
