/**
 * The endpoints of Stripe that are used, after its API reference: form-encoded requests, idempotency keys, objects with the
 * fields that are read, and signed events. State changes by what the test does to it, as by a customer or a bank.
 */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

type Fields = Readonly<Record<string, string>>
// biome-ignore lint/suspicious/noExplicitAny: objects of a foreign API
type StripeObject = Record<string, any> & { id: string; object: string }

export type StripeDouble = Awaited<ReturnType<typeof startStripe>>

export const WEBHOOK_SECRET = 'whsec_of_the_double'

export async function startStripe(t: Pick<TestContext, 'after'>) {
  const objects = new Map<string, StripeObject>()
  const answers = new Map<string, { status: number; body: object }>()
  const calls: string[] = []
  const state = { declines: false, isDown: false, lacksMethod: false, refusesReads: false, pageSize: 100 }
  let serial = 0
  const add = <Rest extends object>(prefix: string, object: string, rest: Rest): StripeObject & Rest => {
    const made = { id: `${prefix}_${++serial}`, object, ...rest }
    objects.set(made.id, made)
    return made
  }
  const must = (id: string): StripeObject => {
    const found = objects.get(id)
    if (found === undefined) throw new Missing(id)
    return found
  }
  const listOf = (object: string, query: URLSearchParams) => {
    const intent = query.get('payment_intent')
    const all = [...objects.values()].filter((each) => each.object === object && each['payment_intent'] === intent)
    const first = all.findIndex(({ id }) => id === query.get('starting_after')) + 1
    const data = all.slice(first, first + state.pageSize)
    return { object: 'list', url: `/v1/${object}s`, has_more: first + data.length < all.length, data }
  }
  const intentOf = (amount: number, metadata: Fields, rest: object = {}) =>
    add('pi', 'payment_intent', {
      amount,
      amount_received: 0,
      currency: 'usd',
      status: 'requires_payment_method',
      metadata,
      payment_method: null as unknown,
      ...rest,
    })
  const pay = (intent: StripeObject): void => {
    const card = { id: 'pm_card', object: 'payment_method', type: 'card', card: { brand: 'visa', last4: '4242' } }
    Object.assign(intent, { status: 'succeeded', amount_received: intent['amount'], payment_method: card })
  }
  const routes: Readonly<Record<string, (fields: Fields) => StripeObject>> = {
    '/v1/customers': (fields) => add('cus', 'customer', { metadata: metadataOf(fields) }),
    '/v1/checkout/sessions': (fields) =>
      add('cs', 'checkout.session', {
        metadata: metadataOf(fields),
        status: 'open',
        payment_intent: null as string | null,
        amount_total: Number(fields['line_items[0][price_data][unit_amount]']),
        intent_metadata: metadataOf(fields, 'payment_intent_data[metadata]'),
        url: 'https://checkout.stripe.example/pay',
      }),
    '/v1/payment_intents': (fields) => {
      if (state.declines) throw new Declined()
      if (state.lacksMethod) throw new Missing(fields['payment_method'])
      const intent = intentOf(Number(fields['amount']), metadataOf(fields))
      pay(intent)
      return intent
    },
  }
  const answer = (method: string, url: URL, fields: Fields): object => {
    const { pathname, searchParams } = url
    const make = method === 'POST' ? routes[pathname] : undefined
    if (make !== undefined) return make(fields)
    if (state.refusesReads) throw new Missing(pathname)
    if (pathname === '/v1/refunds') return listOf('refund', searchParams)
    if (pathname === '/v1/disputes') return listOf('dispute', searchParams)
    if (pathname.endsWith('/detach')) return { id: pathname.split('/')[3], object: 'payment_method' }
    return must(pathname.split('/').at(-1) ?? '')
  }
  const server = createServer(async (request, response) => {
    const fields = Object.fromEntries(new URLSearchParams(await bodyOf(request)))
    const url = new URL(request.url ?? '/', 'http://stripe')
    const key = request.headers['idempotency-key']
    calls.push(`${request.method} ${url.pathname}`)
    const known = typeof key === 'string' ? answers.get(key) : undefined
    const { status, body } = known ?? (state.isDown ? DOWN : tried(() => answer(request.method ?? '', url, fields)))
    if (typeof key === 'string' && status < 500) answers.set(key, { status, body })
    response.writeHead(status, { 'content-type': 'application/json', 'stripe-should-retry': 'false' })
    response.end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    state,
    objects: (object: string) => [...objects.values()].filter((each) => each.object === object),
    /** As the customer does on the page of the session. @returns The payment intent. */
    payCheckout(sessionId: string): StripeObject {
      const session = must(sessionId)
      const intent = intentOf(session['amount_total'], session['intent_metadata'])
      pay(intent)
      Object.assign(session, { status: 'complete', payment_intent: intent.id })
      return intent
    },
    expire: (sessionId: string) => Object.assign(must(sessionId), { status: 'expired' }),
    refund: (intentId: string, amount: number, status = 'succeeded') =>
      add('re', 'refund', { payment_intent: intentId, amount, status, currency: 'usd' }),
    dispute: (intentId: string, amount: number, status = 'needs_response') =>
      add('dp', 'dispute', { payment_intent: intentId, amount, status, currency: 'usd' }),
    change: (id: string, fields: object) => Object.assign(must(id), fields),
    /** A signed event about an object as it is now. */
    event(type: string, object: object, secret = WEBHOOK_SECRET, at = Math.floor(Date.now() / 1_000)): SignedEvent {
      const body = JSON.stringify({ id: `evt_${++serial}`, object: 'event', type, data: { object }, created: at })
      const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
      return { body, headers: { 'stripe-signature': `t=${at},v1=${signature}`, 'content-type': 'application/json' } }
    },
  }
}

export interface SignedEvent {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

class Missing extends Error {}
class Declined extends Error {}

const DOWN = { status: 500, body: { error: { type: 'api_error', message: 'down' } } }

function tried(work: () => object): { status: number; body: object } {
  try {
    return { status: 200, body: work() }
  } catch (error) {
    if (error instanceof Declined)
      return { status: 402, body: { error: { type: 'card_error', code: 'card_declined', message: 'declined' } } }
    if (!(error instanceof Missing)) throw error
    return {
      status: 404,
      body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'none' } },
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const piece of request) body += piece
  return body
}

function metadataOf(fields: Fields, prefix = 'metadata'): Record<string, string> {
  const own = Object.entries(fields).filter(([name]) => name.startsWith(`${prefix}[`))
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length + 1, -1), value]))
}
