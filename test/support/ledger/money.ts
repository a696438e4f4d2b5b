/** What tests ask a running gateway about money. */
import assert from 'node:assert/strict'
import { type Answer, CHAT, eventually, getJson, hello, send } from '../client.ts'
import type { Gateway } from '../gateway.ts'
import { bodyOf, completion, counts } from '../providers/answers.ts'
import type { Script } from '../providers/fake-provider.ts'

export interface Reconciled {
  readonly ok: boolean
  readonly rows_usd: number
  readonly rollups_usd: number
  readonly ledger_usd: number
  readonly balance_usd: number
  readonly expected_balance_usd: number
}

export interface Credit {
  readonly balance_usd: number
  readonly held_usd: number
  readonly available_usd: number
}

export interface LedgerRow {
  readonly id: string
  readonly object: 'ledger_entry'
  readonly kind: string
  readonly amount_usd: number
  readonly balance_usd: number
  readonly completion_id: string | null
  readonly key_id: string | null
  readonly price_version: string | null
  readonly note: string | null
  readonly created_at: string
}

export interface UsageRow {
  readonly id: string
  readonly api: string
  readonly status: string
  readonly usage_source: string
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_usd: number
  readonly client_request_id: string | null
}

export function reconcile(gateway: Gateway, key: string): Promise<Reconciled> {
  return getJson(gateway, key, '/v1/usage/reconcile')
}

/** Waits until nothing is reserved, and says what is there then. Asked over HTTP: a command for each look would be the load. */
export async function creditAtRest(
  gateway: Gateway,
  { account, key }: { readonly account: string; readonly key: string },
  withinMs?: number,
): Promise<Credit> {
  await eventually(
    () => getJson<{ readonly held_usd: number }>(gateway, key, '/v1/usage'),
    ({ held_usd: held }) => held === 0,
    withinMs,
  )
  return creditOf(gateway, account)
}

export async function creditOf(gateway: Gateway, account: string): Promise<Credit> {
  return JSON.parse(await gateway.cli('credits', 'show', '--account', account, '--json')) as Credit
}

/** Every row of a list, page by page. */
export async function everyRow<Row>(gateway: Gateway, key: string, path: string): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { data: Row[]; next_cursor: string | null } = await getJson(
      gateway,
      key,
      `${path}${path.includes('?') ? '&' : '?'}limit=100${query}`,
    )
    rows.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return rows
}

/**
 * Waits for one row of each call to a provider, and checks that it costs exactly its tokens at the prices of `model()`:
 * 1000 and 2000 nano-dollars each.
 * @param known IDs of rows that were there before.
 */
export async function checkRows(
  gateway: Gateway,
  key: string,
  calls: number,
  known: ReadonlySet<string> = new Set(),
): Promise<readonly UsageRow[]> {
  const find = async (): Promise<readonly UsageRow[]> =>
    (await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')).filter(({ id }) => !known.has(id))
  const rows = await eventually(find, ({ length }) => length >= calls) // the last is written after its answer
  assert.equal(rows.length, calls)
  for (const { status, prompt_tokens: read, completion_tokens: written, cost_usd: cost } of rows) {
    assert.equal(cost, status === 'completed' ? (read * 1000 + written * 2000) / 1e9 : 0, status)
  }
  return rows
}

/** Answers with as many tokens as were allowed, and reports exactly those, after a moment. */
export const reportsMaxTokens: Script = async (call, reply) => {
  const { max_tokens: allowed } = bodyOf(call)
  const tokens = typeof allowed === 'number' ? allowed : 1
  await reply.wait(50)
  reply.bill({ promptTokens: 7, completionTokens: tokens })
  reply.head(200, { 'content-type': 'application/json' })
  reply.end(JSON.stringify(completion({ content: 'w '.repeat(tokens) }, { usage: counts(7, tokens) })))
}

interface Race {
  readonly key: string
  readonly count: number
  readonly body?: object
  /** Requests under way at a time; all of them unless given. */
  readonly concurrency?: number
}

/** Whole answers at once, as many as `count`, spread over the gateways in turn. */
export async function race(
  gateways: readonly Gateway[],
  { key, count, body = {}, concurrency = count }: Race,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const client = async (): Promise<void> => {
    while (next < count) {
      const gateway = gateways[next++ % gateways.length]
      if (gateway === undefined) throw new Error('a race without gateways')
      answers.push(await send(gateway, CHAT, { key, body: hello({ ...body }) }))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, client))
  return answers
}
