/** A ledger on a real database, and features' routes over it. */

import type { TestContext } from 'node:test'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { migrate } from '../../../src/db/migrate.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import { MEMBER_RIGHTS, type Right, SCOPES, type Scope } from '../../../src/domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../../src/domain/ids.ts'
import { type Account, createAccount, findAccount } from '../../../src/features/accounts/queries.ts'
import { createAccountCredit } from '../../../src/features/credit/account-credit.ts'
import { createLedgerStore } from '../../../src/features/credit/ledger/store.ts'
import { type Outcome, type PlanTerms, planTerms, type Unit } from '../../../src/features/credit/ledger/unit.ts'
import { requireCaller } from '../../../src/http/caller.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { currentLocation, openLocation, testIds } from '../database.ts'
import { keyCaller } from '../identity/caller.ts'
import { completionRecord } from './completions.ts'

const PLANS = {
  free: { billing: 'prepaid', monthly_credit_usd: 5 },
  pro: { billing: 'prepaid' },
  unlimited: { billing: 'postpaid' },
} as const

export const termsOf = (plan: string): PlanTerms => planTerms(PLANS[plan as keyof typeof PLANS])

export type CreditFixture = Awaited<ReturnType<typeof openCreditFixture>>

/** `clock.now` is the time of everything that is done through it. */
export async function openCreditFixture(t: TestContext, path?: string) {
  const file = path ?? (await currentLocation(t))
  const database = await openLocation(file)
  t.after(() => database.close())
  await migrate(database.db, Date.now)
  const { db } = database
  const clock = { now: Date.UTC(2026, 4, 5, 12) }
  const now = () => clock.now
  const store = createLedgerStore(database)
  const commit = (units: readonly Unit[]) => store.commit({ units, now: clock.now })
  const submit = async (unit: Unit): Promise<Outcome> => {
    const [outcome] = await commit([unit])
    if (outcome === undefined) throw new Error('no outcome')
    return outcome
  }
  const credit = createAccountCredit({ db, now, submit, termsOf })
  return {
    path: file,
    database,
    db,
    clock,
    now,
    commit,
    submit,
    credit,
    account: (plan: string) => createAccount(db, { name: `on ${plan}`, plan }, { now, ids: testIds }),
    /** Charges the account for completions, as requests do that are admitted without a hold. */
    async spend(account: Account, ...overs: Partial<CompletionRecord>[]): Promise<CompletionRecord[]> {
      const records = overs.map((over) => completionRecord({ createdAt: clock.now, ...over, accountId: account.id }))
      const terms = termsOf(account.plan)
      await commit(records.map((record) => ({ kind: 'settle', record, terms, unrecorded: true, kept: undefined })))
      return records
    },
    /** Reserves so many nano-dollars and leaves it at that. */
    async reserve(account: Account, nanoUsd: number): Promise<Outcome> {
      const { id, model, provider, priceVersion, createdAt } = completionRecord({ createdAt: clock.now })
      return submit({
        kind: 'hold',
        accountId: account.id,
        keyId: 'key_a' as KeyId,
        id,
        terms: termsOf(account.plan),
        keyBudgetNanoUsd: undefined,
        instanceId: 'ins_test',
        promptTokens: nanoUsd,
        outputTokens: 0,
        choices: 1,
        flexible: false,
        tentative: false,
        inputPrice: 1000,
        outputPrice: 0,
        fixedNanoUsd: 0,
        model,
        provider,
        stream: false,
        priceVersion,
        createdAt,
        clientRequestId: undefined,
      })
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly body: any
}

interface Asking {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** The credential is the account's id, followed by the scopes where it has not all of them: `acc_a chat,billing`. */
export async function serveRoutes(
  t: TestContext,
  { db }: Pick<CreditFixture, 'db'>,
  routes: readonly FastifyPluginAsyncTypebox[],
): Promise<(url: string, credential: string, asking?: Asking) => Promise<Answer>> {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, async (credential = '') => {
    const [id, scopes] = credential.split(' ')
    const accountId = id as AccountId
    return keyCaller({
      accountId,
      plan: (await findAccount(db, accountId))?.plan ?? 'pro',
      scopes: new Set<Right>(scopes === undefined ? [...SCOPES, ...MEMBER_RIGHTS] : (scopes.split(',') as Scope[])),
    })
  })
  for (const plugin of routes) await app.register(plugin)
  return async (url, authorization, { method = 'GET', body, headers = {} } = {}) => {
    const payload = body === undefined ? {} : { payload: body }
    const answer = await app.inject({ method, url, headers: { ...headers, authorization }, ...payload })
    const isJson = String(answer.headers['content-type']).includes('json')
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      body: isJson ? answer.json() : undefined,
    }
  }
}
