/** The account's money as the gateway tells of it, and what can be set. */
import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import { accountQuery } from '../../shell/lasting.ts'
import { type Pages, usePages } from '../../ui/table/paged.tsx'
import { boundsOf } from './months.ts'
import type { LedgerKind } from './search.ts'

type JsonOf<
  Path extends
    | '/v1/account'
    | '/v1/ledger'
    | '/v1/ledger/statement'
    | '/v1/invoices'
    | '/v1/invoices/{id}'
    | '/v1/billing'
    | '/v1/billing/payments',
> = paths[Path]['get']['responses'][200]['content']['application/json']

export type Usage = paths['/v1/usage']['get']['responses'][200]['content']['application/json']
export type Account = JsonOf<'/v1/account'>
export type LedgerEntry = JsonOf<'/v1/ledger'>['data'][number]
export type Statement = JsonOf<'/v1/ledger/statement'>
export type InvoiceSummary = JsonOf<'/v1/invoices'>['data'][number]
export type Billing = JsonOf<'/v1/billing'>
export type Payment = JsonOf<'/v1/billing/payments'>['data'][number]
type RechargeBody = paths['/v1/billing']['patch']['requestBody']['content']['application/json']['auto_recharge']
export type Invoice = JsonOf<'/v1/invoices/{id}'>
type AccountChanges = paths['/v1/account']['patch']['requestBody']['content']['application/json']

const PAGE_SIZE = 50

/** @param month `2026-11` */
export function statementQuery(month: string) {
  const { start, end } = boundsOf(month)
  return queryOptions({
    queryKey: ['/v1/ledger/statement', month],
    queryFn: () =>
      take(api.GET('/v1/ledger/statement', { params: { query: { period_start: start, period_end: end } } })),
  })
}

export interface LedgerFilter {
  readonly kind: LedgerKind | undefined
  readonly month: string | undefined
}

export function useLedger({ kind, month }: LedgerFilter): Pages<LedgerEntry> {
  const bounds = month === undefined ? undefined : boundsOf(month)
  return usePages(['/v1/ledger', kind ?? '', month ?? ''], (cursor) => {
    const query = {
      limit: PAGE_SIZE,
      ...(kind !== undefined && { kind }),
      ...(bounds !== undefined && { period_start: bounds.start, period_end: bounds.end }),
      ...(cursor !== undefined && { cursor }),
    }
    return take(api.GET('/v1/ledger', { params: { query } }))
  })
}

export function useInvoices(): Pages<InvoiceSummary> {
  return usePages(['/v1/invoices'], (cursor) =>
    take(api.GET('/v1/invoices', { params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } } })),
  )
}

/** A closed invoice never changes. */
export function invoiceQuery(id: string) {
  return queryOptions({
    queryKey: ['/v1/invoices', 'one', id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async (): Promise<Invoice> =>
      take(api.GET('/v1/invoices/{id}', { params: { path: { id }, query: { format: 'json' } } })),
  })
}

export function useChangeAccount(): (changes: AccountChanges) => Promise<void> {
  const queries = useQueryClient()
  return async (body) => {
    const account = await take(api.PATCH('/v1/account', { body }))
    queries.setQueryData(accountQuery.queryKey, account)
  }
}

export const billingQuery = queryOptions({
  queryKey: ['/v1/billing'],
  queryFn: () => take(api.GET('/v1/billing')),
})

/** Stripe confirms a payment seconds after it. */
const PENDING_EVERY_MS = 3_000

export function usePayments(): Pages<Payment> {
  const load = (cursor: string | undefined) =>
    take(
      api.GET('/v1/billing/payments', {
        params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } },
      }),
    )
  return usePages(['/v1/billing/payments'], load, { refetchInterval: PENDING_EVERY_MS })
}

export function usePaymentActions() {
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: billingQuery.queryKey })
  return {
    topUp: (usd: number, saves: boolean) =>
      take(api.POST('/v1/billing/top-ups', { body: { usd, save_payment_method: saves } })),
    async changeRecharge(auto_recharge: RechargeBody): Promise<void> {
      queries.setQueryData(billingQuery.queryKey, await take(api.PATCH('/v1/billing', { body: { auto_recharge } })))
    },
    async removeMethod(): Promise<void> {
      await take(api.DELETE('/v1/billing/payment-method'))
      await refresh()
    },
  }
}
