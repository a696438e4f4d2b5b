import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCreditFixture, termsOf } from '../../../test/support/ledger/credit-service.ts'
import { GatewayError } from '../../domain/errors.ts'
import { createAccountCredit } from './account-credit.ts'
import { planTerms } from './ledger/unit.ts'

test('a plan’s terms are exact, and an account whose plan is gone may spend what it has', () => {
  assert.deepEqual(planTerms({ billing: 'prepaid', monthly_credit_usd: 0.1 }), {
    billing: 'prepaid',
    monthlyCreditNanoUsd: 100_000_000n,
  })
  assert.deepEqual(planTerms({ billing: 'postpaid' }), { billing: 'postpaid', monthlyCreditNanoUsd: 0n })
  assert.deepEqual(planTerms(undefined), { billing: 'prepaid', monthlyCreditNanoUsd: 0n })
  assert.throws(() => planTerms({ billing: 'prepaid', monthly_credit_usd: 1e-10 }), /more than 9 decimals/)
})

test('reading an account grants the month’s allowance once, and writes nothing where nothing is due', async (t) => {
  const creditService = await openCreditFixture(t)
  let writes = 0
  const credit = createAccountCredit({
    ...creditService,
    termsOf,
    submit: (unit) => {
      writes++
      return creditService.submit(unit)
    },
  })
  const account = await creditService.account('free')
  for (let read = 0; read < 3; read++) assert.equal((await credit.read(account)).remainingNanoUsd, 5_000_000_000n)
  assert.equal(writes, 1)
  creditService.clock.now = Date.UTC(2026, 5, 1)
  await creditService.spend(account, { costNanoUsd: 1_000_000_000n })
  assert.equal((await credit.read(account)).remainingNanoUsd, 4_000_000_000n)
  assert.equal(writes, 1, 'the charge brought the month')
  creditService.clock.now = Date.UTC(2026, 6, 1)
  assert.equal((await credit.read(account)).remainingNanoUsd, 5_000_000_000n)
  assert.equal(writes, 2)
})

test('on a plan that is billed after the fact nothing limits what remains', async (t) => {
  const { account, credit, spend } = await openCreditFixture(t)
  const postpaid = await account('unlimited')
  await spend(postpaid, { costNanoUsd: 7n })
  const { remainingNanoUsd, balanceNanoUsd } = await credit.read(postpaid)
  assert.deepEqual([remainingNanoUsd, balanceNanoUsd], [undefined, -7n])
})

test('while the database takes no writes, what is there is shown', async (t) => {
  const creditService = await openCreditFixture(t)
  const unavailable = () => Promise.reject(new GatewayError('database_unavailable', 'away'))
  const credit = createAccountCredit({ ...creditService, termsOf, submit: unavailable })
  const account = await creditService.account('free')
  const untouched = await credit.read(account)
  assert.deepEqual([untouched.remainingNanoUsd, untouched.alertThresholds], [0n, [50, 80, 100]])
  await creditService.credit.read(account)
  creditService.clock.now = Date.UTC(2026, 8, 1)
  assert.equal((await credit.read(account)).remainingNanoUsd, 5_000_000_000n)
  await assert.rejects(credit.configure(account, { monthlyBudgetNanoUsd: null }), { code: 'database_unavailable' })
  const broken = createAccountCredit({ ...creditService, termsOf, submit: () => Promise.reject(new Error('a bug')) })
  await assert.rejects(broken.read(account), /a bug/)
})

test('what the ledger refuses is an error that says why', async (t) => {
  const creditService = await openCreditFixture(t)
  const account = await creditService.account('pro')
  const nothing = { kind: 'grant', nanoUsd: 0n, note: undefined, adjusts: undefined } as const
  await assert.rejects(creditService.credit.enter(account, nothing), /rejected a unit of work/)
  const whole = { ...nothing, nanoUsd: 9_000_000_000_000_000_000n }
  await creditService.credit.enter(account, whole)
  await assert.rejects(creditService.credit.enter(account, whole), /rejected a unit of work/)
})
