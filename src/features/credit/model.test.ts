/** The rules of money under anything that can be asked of them in any order, checked after every step. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AppliedUnit,
  accountOf,
  applyBatch,
  checkLedger,
  completionId,
  completionOf,
  type EnteredRow,
  holdUnit,
  type MemoryLedger,
  memoryLedger,
  rowsOf,
  settleUnit,
} from '../../../test/support/ledger/credit-model.ts'
import {
  type BudgetModel,
  budgetModel,
  checkBudgets,
  followUnit,
  type MemoryBudget,
} from '../../../test/support/ledger/memory-budgets.ts'
import {
  BUDGET_ACTIONS,
  BUDGET_LEVELS,
  BUDGET_WINDOWS,
  type BudgetAction,
  type BudgetSubject,
  type BudgetWindow,
} from '../../domain/budget.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId, BudgetId, CompletionId, KeyId, TeamId, UserId } from '../../domain/ids.ts'
import { chargeNanoUsd } from '../../domain/price/price.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { LATE_SETTLEMENT } from './ledger/movements.ts'
import type { AccountState } from './ledger/state.ts'
import type { EntryUnit, HoldUnit, Outcome, PlanTerms } from './ledger/unit.ts'

const RUNS = 10_000
const HOUR = 3_600_000
const PLANS: readonly PlanTerms[] = [
  { billing: 'prepaid', monthlyCreditNanoUsd: 0n },
  { billing: 'prepaid', monthlyCreditNanoUsd: 400n, maxOverrunNanoUsd: 0n },
  { billing: 'prepaid', monthlyCreditNanoUsd: 900n, maxOverrunNanoUsd: 100n },
  { billing: 'postpaid', monthlyCreditNanoUsd: 0n },
  { billing: 'postpaid', monthlyCreditNanoUsd: 300n },
]
/** In the order of versions. The first costs nothing; none divides evenly. */
const PRICES: readonly Price[] = [
  { inputMicroUsd: 0, outputMicroUsd: 0 },
  { inputMicroUsd: 0, outputMicroUsd: 1000 },
  { inputMicroUsd: 270, outputMicroUsd: 1100, cachedInputMicroUsd: 70 },
  { inputMicroUsd: 1501, outputMicroUsd: 333, cacheWriteMicroUsd: 1999 },
]
const ACCOUNTS = ['acc_1', 'acc_2'] as readonly string[] as readonly AccountId[]
/** Two of the first account, one of the second. */
const KEYS = ['key_1', 'key_2', 'key_3'] as readonly string[] as readonly KeyId[]

/** Of the requests of a key, besides the account and the key. */
const COUNTED = [
  { team: 'team_1' as TeamId, member: 'usr_1' as UserId },
  { team: undefined, member: 'usr_1' as UserId },
  { team: undefined, member: undefined },
] as const
const TAG: BudgetSubject = { level: 'tag', id: 'customer=a' }
/** What may have budgets, with the index of its account. */
const SUBJECTS: readonly (BudgetSubject & { readonly account: number })[] = [
  { account: 0, level: 'account', id: 'acc_1' },
  { account: 0, level: 'team', id: 'team_1' },
  { account: 0, level: 'member', id: 'usr_1' },
  { account: 0, level: 'key', id: 'key_1' },
  { account: 0, level: 'key', id: 'key_2' },
  { account: 0, ...TAG },
  { account: 1, level: 'account', id: 'acc_2' },
  { account: 1, ...TAG },
]

type Actual = 'nothing' | 'below' | 'equal' | 'above' | 'any'

type Step =
  | {
      readonly do: 'hold'
      readonly key: number
      readonly prompt: number
      readonly output: number
      readonly choices: number
      readonly flexible: boolean
    }
  | { readonly do: 'settle'; readonly pick: number; readonly actual: Actual; readonly anyEver: boolean }
  | { readonly do: 'unrecorded'; readonly key: number; readonly output: number }
  | { readonly do: 'release' | 'sweep' | 'repeat'; readonly pick: number }
  | { readonly do: 'extend'; readonly pick: number; readonly amount: number }
  | {
      readonly do: 'entry'
      readonly account: number
      readonly kind: 'grant' | 'purchase' | 'refund'
      readonly amount: number
    }
  | { readonly do: 'correct'; readonly pick: number; readonly kind: 'charge' | 'refund'; readonly amount: number }
  | { readonly do: 'budget' | 'keyBudget' | 'overrun'; readonly of: number; readonly amount: number | undefined }
  | { readonly do: 'thresholds'; readonly of: number; readonly thresholds: readonly number[] }
  /** Sets the budget of a subject for a window; without an amount, removes it. */
  | {
      readonly do: 'level'
      readonly of: number
      readonly window: BudgetWindow
      readonly amount: number | undefined
      readonly action: BudgetAction
    }
  | { readonly do: 'raise'; readonly pick: number; readonly amount: number; readonly hours: number }
  | { readonly do: 'plan'; readonly account: number; readonly plan: number }
  | { readonly do: 'price'; readonly version: number }
  | { readonly do: 'time'; readonly hours: number }
  | { readonly do: 'touch'; readonly account: number }

const small = fc.nat({ max: 5 })
const amount = fc.integer({ min: 1, max: 800 })
const perhaps = fc.option(amount, { nil: undefined })
const of = <const T>(value: T) => fc.constant(value)
const actual = fc.constantFrom<Actual>('nothing', 'below', 'equal', 'above', 'any')

const STEPS = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({
        do: of('hold'),
        key: small,
        prompt: fc.nat({ max: 300 }),
        output: fc.nat({ max: 600 }),
        choices: fc.integer({ min: 1, max: 3 }),
        flexible: fc.boolean(),
      }),
      weight: 8,
    },
    { arbitrary: fc.record({ do: of('settle'), pick: small, actual, anyEver: fc.boolean() }), weight: 6 },
    { arbitrary: fc.record({ do: fc.constantFrom('release', 'sweep', 'repeat'), pick: small }), weight: 4 },
    { arbitrary: fc.record({ do: of('extend'), pick: small, amount }), weight: 2 },
    {
      arbitrary: fc.record({
        do: of('entry'),
        account: small,
        kind: fc.constantFrom('grant', 'purchase', 'refund'),
        amount,
      }),
      weight: 4,
    },
    {
      arbitrary: fc.record({
        do: of('time'),
        hours: fc.oneof(fc.nat({ max: 30 }), fc.integer({ min: -40, max: 1500 })),
      }),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        do: of('level'),
        of: fc.nat({ max: SUBJECTS.length - 1 }),
        window: fc.constantFrom(...BUDGET_WINDOWS),
        amount: fc.option(amount, { nil: undefined, freq: 5 }),
        action: fc.constantFrom(...BUDGET_ACTIONS, 'block' as const),
      }),
      weight: 4,
    },
    fc.record({ do: of('raise'), pick: small, amount, hours: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ do: of('correct'), pick: small, kind: fc.constantFrom('charge', 'refund'), amount }),
    fc.record({ do: of('unrecorded'), key: small, output: fc.nat({ max: 400 }) }),
    fc.record({ do: fc.constantFrom('budget', 'keyBudget', 'overrun'), of: small, amount: perhaps }),
    fc.record({ do: of('thresholds'), of: small, thresholds: fc.constantFrom([], [50], [33, 100], [50, 80, 100]) }),
    fc.record({ do: of('plan'), account: small, plan: small }),
    fc.record({ do: of('price'), version: small }),
    fc.record({ do: of('touch'), account: small }),
  ),
  { maxLength: 100, size: 'max' },
)

/** A request as admission left it: what it was granted, and at which price. */
interface Admitted {
  readonly unit: HoldUnit
  readonly version: number
  readonly outputTokens: number
}

interface Run {
  readonly ledger: MemoryLedger
  readonly model: BudgetModel
  readonly admitted: Map<CompletionId, Admitted>
  readonly sent: AppliedUnit[]
  readonly resolved: Map<string, number>
  readonly plans: PlanTerms[]
  readonly keyBudgets: (bigint | undefined)[]
  version: number
  now: number
  count: number
}

function newRun(): Run {
  const terms = PLANS[0] ?? assert.fail()
  const ledger = memoryLedger()
  for (const [at, { member }] of COUNTED.entries())
    if (member !== undefined) ledger.budgets.owners.set(KEYS[at] ?? assert.fail(), member)
  return {
    ledger,
    model: budgetModel(ledger.budgets),
    admitted: new Map(),
    sent: [],
    resolved: new Map(),
    plans: [terms, terms],
    keyBudgets: [],
    version: 1,
    now: Date.UTC(2026, 0, 20),
    count: 0,
  }
}

/** Wraps around, so that any number picks something where there is anything. */
function at<T>(list: readonly T[], index: number): T {
  return list[index % list.length] ?? assert.fail('nothing to pick from')
}

const accountOfKey = (key: number): number => (key % KEYS.length === 2 ? 1 : 0)
const termsOf = (run: Run, id: AccountId): PlanTerms => at(run.plans, ACCOUNTS.indexOf(id))
const versionText = (version: number): string => `price_${version}`

/** The unit of a step; undefined: it changes the surroundings, or there is nothing to do it to. */
function unitOf(run: Run, step: Step): AppliedUnit | undefined {
  switch (step.do) {
    case 'hold':
      return newHold(run, step)
    case 'unrecorded':
      return newUnrecorded(run, step)
    case 'settle': {
      const admitted = pickAdmitted(run, step.pick, step.anyEver)
      return admitted && settlement(run, admitted, tokensOf(admitted, step.actual))
    }
    case 'sweep': {
      const admitted = pickAdmitted(run, step.pick, false)
      return admitted && sweep(run, admitted)
    }
    case 'release': {
      const admitted = pickAdmitted(run, step.pick, true)
      return admitted && { kind: 'release', accountId: admitted.unit.accountId, id: admitted.unit.id }
    }
    case 'extend': {
      const admitted = pickAdmitted(run, step.pick, false)
      if (admitted === undefined) return undefined
      const { accountId, id, keyId } = admitted.unit
      const keyBudgetNanoUsd = run.keyBudgets[KEYS.indexOf(keyId)]
      return {
        kind: 'extend',
        accountId,
        id,
        terms: termsOf(run, accountId),
        keyBudgetNanoUsd,
        nanoUsd: BigInt(step.amount),
      }
    }
    case 'repeat':
      return run.sent.length === 0 ? undefined : at(run.sent, step.pick)
    case 'entry': {
      const accountId = at(ACCOUNTS, step.account)
      const entry = { kind: step.kind, nanoUsd: BigInt(step.amount), note: undefined, adjusts: undefined }
      return { kind: 'entry', accountId, terms: termsOf(run, accountId), entry }
    }
    case 'correct':
      return correction(run, step)
    case 'touch': {
      const accountId = at(ACCOUNTS, step.account)
      return { kind: 'touch', accountId, terms: termsOf(run, accountId) }
    }
    default:
      return changeSurroundings(run, step)
  }
}

function changeSurroundings(
  run: Run,
  step: Extract<
    Step,
    { do: 'budget' | 'keyBudget' | 'overrun' | 'thresholds' | 'level' | 'raise' | 'plan' | 'price' | 'time' }
  >,
): AppliedUnit | undefined {
  switch (step.do) {
    case 'budget': {
      const accountId = at(ACCOUNTS, step.of)
      const monthlyBudgetNanoUsd = step.amount === undefined ? null : BigInt(step.amount)
      return { kind: 'settings', accountId, terms: termsOf(run, accountId), monthlyBudgetNanoUsd }
    }
    case 'overrun': {
      const accountId = at(ACCOUNTS, step.of)
      const maxOverrunNanoUsd = step.amount === undefined ? null : BigInt(step.amount)
      return { kind: 'settings', accountId, terms: termsOf(run, accountId), maxOverrunNanoUsd }
    }
    case 'thresholds': {
      const accountId = at(ACCOUNTS, step.of)
      return { kind: 'settings', accountId, terms: termsOf(run, accountId), alertThresholds: step.thresholds }
    }
    case 'keyBudget':
      run.keyBudgets[step.of % KEYS.length] = step.amount === undefined ? undefined : BigInt(step.amount)
      return undefined
    case 'level':
      setBudget(run.ledger, step)
      return undefined
    case 'raise': {
      const { all } = run.ledger.budgets
      if (all.size === 0) return undefined
      const budget = at([...all.values()], step.pick)
      const raise = { nanoUsd: BigInt(step.amount), endsAt: run.now + step.hours * HOUR }
      all.set(budget.id, { ...budget, raises: [...budget.raises, raise] })
      return undefined
    }
    case 'plan':
      run.plans[step.account % ACCOUNTS.length] = at(PLANS, step.plan)
      return undefined
    case 'price':
      run.version = step.version % PRICES.length
      return undefined
    case 'time':
      run.now = Math.max(0, run.now + step.hours * HOUR)
      return undefined
  }
}

/** One that stays keeps what is spent; one that was removed is another one. */
function setBudget({ budgets: { all } }: MemoryLedger, step: Extract<Step, { do: 'level' }>): void {
  const { account, ...subject } = at(SUBJECTS, step.of)
  const accountId = at(ACCOUNTS, account)
  const { window, action, amount: limit } = step
  const isSame = (one: MemoryBudget) =>
    !one.isRemoved &&
    one.window === window &&
    one.accountId === accountId &&
    one.subject.level === subject.level &&
    one.subject.id === subject.id
  const known = [...all.values()].find(isSame)
  if (known !== undefined) {
    const change = limit === undefined ? { isRemoved: true } : { limit: BigInt(limit), action }
    all.set(known.id, { ...known, ...change })
  } else if (limit !== undefined) {
    const id = `bud_${all.size}` as BudgetId
    const terms = { window, action, limit: BigInt(limit), timezone: 'UTC', startsAt: undefined, isRemoved: false }
    all.set(id, { id, accountId, subject, level: subject.level, ...terms, raises: [] })
  }
}

/** Whom the unit's request counts for. A settlement without a hold counts for no tags. */
function countedFor(unit: AppliedUnit) {
  const keyId = unit.kind === 'settle' ? unit.record.keyId : unit.kind === 'hold' ? unit.keyId : undefined
  const { team, member } = COUNTED[keyId === undefined ? -1 : KEYS.indexOf(keyId)] ?? {}
  const subjects: BudgetSubject[] = [
    { level: 'account', id: accountOf(unit) },
    ...(team === undefined ? [] : [{ level: 'team', id: team } as const]),
    ...(member === undefined ? [] : [{ level: 'member', id: member } as const]),
    ...(keyId === undefined ? [] : [{ level: 'key', id: keyId } as const]),
    ...(unit.kind === 'hold' ? [TAG] : []),
  ]
  return { accountId: accountOf(unit), subjects }
}

function newHold(run: Run, step: Extract<Step, { do: 'hold' }>): HoldUnit {
  const price = at(PRICES, run.version)
  const accountId = at(ACCOUNTS, accountOfKey(step.key))
  run.count += 1
  return holdUnit({
    accountId,
    keyId: at(KEYS, step.key),
    id: completionId(run.count),
    terms: termsOf(run, accountId),
    keyBudgetNanoUsd: run.keyBudgets[step.key % KEYS.length],
    promptTokens: step.prompt,
    outputTokens: step.output,
    choices: step.choices,
    flexible: step.flexible,
    inputPrice: price.inputMicroUsd,
    outputPrice: price.outputMicroUsd,
    priceVersion: versionText(run.version),
    createdAt: run.now,
    teamId: at(COUNTED, step.key).team,
    subjects: [TAG],
  })
}

interface Tokens {
  readonly prompt: number
  readonly completion: number
  readonly cached: number
}

function newUnrecorded(run: Run, { key, output }: Extract<Step, { do: 'unrecorded' }>): AppliedUnit {
  run.count += 1
  const accountId = at(ACCOUNTS, accountOfKey(key))
  const unit = holdUnit({ id: completionId(`u${run.count}`), accountId, keyId: at(KEYS, key), createdAt: run.now })
  const admitted = { unit, version: run.version, outputTokens: output }
  return { ...settlement(run, admitted, { prompt: 0, completion: output, cached: 0 }), unrecorded: true }
}

/** An open request, or any that ever was. */
function pickAdmitted(run: Run, pick: number, anyEver: boolean): Admitted | undefined {
  const all = [...run.admitted.values()]
  const choice = anyEver ? all : all.filter(({ unit }) => run.ledger.holds.has(unit.id))
  return choice.length === 0 ? undefined : at(choice, pick)
}

/** What the provider says, against what was held. */
function tokensOf({ unit, outputTokens }: Admitted, actually: Actual): Tokens {
  const { promptTokens: prompt } = unit
  const completion = outputTokens * unit.choices
  if (actually === 'nothing') return { prompt: 0, completion: 0, cached: 0 }
  if (actually === 'equal') return { prompt, completion, cached: 0 }
  if (actually === 'any') return { prompt: 1e9, completion: 1e9, cached: 0 }
  if (actually === 'above') return { prompt: prompt + 7, completion: completion * 2 + 1, cached: 0 }
  return { prompt, completion: Math.floor(completion / 2), cached: Math.floor(prompt / 3) }
}

/** At the price of admission, whatever holds now. */
function settlement(run: Run, { unit, version }: Admitted, { prompt, completion, cached }: Tokens) {
  const record: Partial<CompletionRecord> = {
    id: unit.id,
    accountId: unit.accountId,
    keyId: unit.keyId,
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: cached,
    costNanoUsd: chargeNanoUsd({ prompt, completion, cached }, at(PRICES, version)),
    priceVersion: versionText(version),
    createdAt: run.now,
    teamId: at(COUNTED, KEYS.indexOf(unit.keyId)).team,
  }
  return settleUnit(record, { terms: termsOf(run, unit.accountId) })
}

/** By another process: all that is known is the prompt. */
function sweep(run: Run, admitted: Admitted): AppliedUnit {
  const { record, terms } = settlement(run, admitted, { prompt: admitted.unit.promptTokens, completion: 0, cached: 0 })
  return settleUnit({ ...record, status: 'incomplete', usageSource: 'estimated' }, { terms, provisional: true })
}

/** Names an earlier charge, up or down. */
function correction(run: Run, { pick, kind, amount: size }: Extract<Step, { do: 'correct' }>): EntryUnit | undefined {
  const accountId = at(ACCOUNTS, pick)
  const charges = rowsOf(run.ledger, accountId).filter((row) => row.kind === 'charge')
  if (charges.length === 0) return undefined
  const { number, completionId: id, keyId, priceVersion } = at(charges, pick)
  assert.ok(id)
  const adjusts = { number, completionId: id, keyId, priceVersion }
  const entry = { kind, nanoUsd: BigInt(size), note: 'corrected', adjusts }
  return { kind: 'entry', accountId, terms: termsOf(run, accountId), entry }
}

/** What was there before a step. States are never changed in place, so holding on to them is enough. */
interface Before {
  readonly account: AccountState | undefined
  readonly keys: readonly unknown[]
  readonly holds: number
  readonly rows: readonly EnteredRow[]
  readonly completions: number
  readonly held: bigint | undefined
  readonly alerts: number
}

function lookAt({ ledger }: Run, unit: AppliedUnit): Before {
  const id = completionOf(unit)
  return {
    account: ledger.accounts.get(accountOf(unit)),
    keys: KEYS.map((key) => ledger.keys.get(key)),
    holds: ledger.holds.size,
    rows: [...rowsOf(ledger, accountOf(unit))],
    completions: ledger.completions.size,
    held: id === undefined ? undefined : ledger.holds.get(id)?.amount,
    alerts: ledger.alerts.size,
  }
}

const SCOPES = ['credit', 'account_budget', 'key_budget']
const REACHABLE = [
  ...BUDGET_LEVELS.flatMap((level) => [`hold refused by level ${level}`, `extend refused by level ${level}`]),
  ...BUDGET_WINDOWS.map((window) => `refused by window ${window}`),
  ...['charged in an ended window', 'held by a raise', 'refused after a raise'],
  ...SCOPES.flatMap((scope) => [`hold refused ${scope}`, `extend refused ${scope}`]),
  ...['hold held', 'extend held', 'settle done', 'release done', 'entry entered', 'touch touched', 'settings touched'],
  ...['hold already', 'settle already', 'release already', 'lowered', 'overrun', 'unbilled', 'settle corrected'],
  ...['grant', 'purchase', 'charge', 'refund', 'expiry'],
  ...['settle usage.alert', 'settle credit.exhausted', 'hold credit.exhausted', 'extend credit.exhausted'],
  ...['entry credit.exhausted', 'exhausted within a budget', 'exhausted in another month', 'exhausted again'],
]

/** How often each thing happened in all runs: a property that never gets anywhere holds too. */
type Reached = Map<string, number>

interface Noted {
  readonly outcome: Outcome
  readonly before: Before
  readonly rows: readonly EnteredRow[]
  readonly after: MemoryLedger
  /** Of budgets. */
  readonly seen: readonly string[]
}

function note(reached: Reached, unit: AppliedUnit, step: Noted): void {
  const { outcome, before, rows } = step
  const names: string[] = rows.slice(before.rows.length).map(({ kind }) => kind)
  names.push(...step.seen, ...namesOf(unit, outcome))
  if (outcome.kind === 'held' && unit.kind === 'hold' && outcome.outputTokens < unit.outputTokens) names.push('lowered')
  if (outcome.kind === 'done' && overrunOf(unit, before) > 0n) names.push('overrun')
  if (outcome.kind === 'done' && outcome.unbilledNanoUsd !== undefined) names.push('unbilled')
  for (const name of [...names, ...alertsIn(unit, step)]) reached.set(name, (reached.get(name) ?? 0) + 1)
}

function namesOf({ kind }: AppliedUnit, outcome: Outcome): readonly string[] {
  if (outcome.kind !== 'refused') return [`${kind} ${outcome.kind}`]
  const { scope, budget } = outcome
  if (budget === undefined) return [`${kind} refused ${scope}`]
  return [`${kind} refused by level ${budget.level}`, `refused by window ${budget.window}`]
}

function alertsIn(unit: AppliedUnit, { before, after: { alerts, accounts } }: Noted): readonly string[] {
  const added = [...alerts.values()].slice(before.alerts)
  const names: string[] = added.map(({ event }) => `${unit.kind} ${event}`)
  const isExhausted = (name: string) => name.includes('credit.exhausted') && name.startsWith(`${accountOf(unit)} `)
  if (added.some(({ event }) => event === 'credit.exhausted')) {
    if (accounts.get(accountOf(unit))?.monthlyBudget !== undefined) names.push('exhausted within a budget')
    if ([...alerts.keys()].filter(isExhausted).length > 1) names.push('exhausted in another month')
  }
  const { balance = 0n } = before.account ?? {}
  const { balance: left = 0n, month } = accounts.get(accountOf(unit)) ?? {}
  if (
    names.length === 0 &&
    balance > 0n &&
    left <= 0n &&
    alerts.has(`${accountOf(unit)} ${month} credit.exhausted credit 100`)
  )
    names.push('exhausted again')
  return names
}

function play(steps: readonly Step[], reached: Reached): void {
  const run = newRun()
  for (const step of steps) {
    const unit = unitOf(run, step)
    // To ask for credit of the same id again is no repetition: an extension raises, an entry enters, a hold holds again.
    if (unit === undefined || (step.do === 'repeat' && !isRepeatable(run, unit))) continue
    const before = lookAt(run, unit)
    const outcome = applyBatch(run.ledger, unit, run.now)
    if (step.do !== 'repeat') run.sent.push(unit)
    checkLedger(run.ledger)
    const seen = followUnit(run.model, modelledStep(run, unit, { outcome, before }))
    checkBudgets(run.model)
    checkHistory(run, unit, before)
    checkOutcome(run, unit, outcome, before)
    note(reached, unit, { outcome, before, rows: rowsOf(run.ledger, accountOf(unit)), after: run.ledger, seen })
  }
  comeToRest(run)
}

function modelledStep(
  run: Run,
  unit: AppliedUnit,
  { outcome, before }: { readonly outcome: Outcome; readonly before: Before },
) {
  const added = rowsOf(run.ledger, accountOf(unit)).slice(before.rows.length)
  const charged = added.reduce((sum, { kind, amount: size, completionId: id }) => {
    if (id === undefined) return sum
    return kind === 'charge' ? sum + size : kind === 'refund' ? sum - size : sum
  }, 0n)
  return { unit, outcome, of: countedFor(unit), now: run.now, charged }
}

function isRepeatable(run: Run, unit: AppliedUnit): boolean {
  if (unit.kind === 'hold') return run.ledger.holds.has(unit.id)
  return unit.kind === 'settle' || unit.kind === 'release' || unit.kind === 'touch' || unit.kind === 'settings'
}

/** INV-9: what was written is still there, and the same. */
function checkHistory({ ledger }: Run, unit: AppliedUnit, before: Before): void {
  const rows = rowsOf(ledger, accountOf(unit))
  assert.ok(
    before.rows.every((row, index) => row === rows[index] && Object.isFrozen(row)),
    'INV-9: rows never change',
  )
  const { account } = before
  const after = ledger.accounts.get(accountOf(unit))
  if (account === undefined || after === undefined) return
  assert.ok(after.month >= account.month && after.grantedMonth >= account.grantedMonth, 'months only grow')
  const isOverdrawn = account.balance - account.held < 0n
  const terms = 'terms' in unit ? unit.terms : undefined
  if (isOverdrawn || terms?.billing !== 'prepaid') return
  const most = account.allowance > terms.monthlyCreditNanoUsd ? account.allowance : terms.monthlyCreditNanoUsd
  assert.ok(after.allowance <= most, 'an allowance does not accumulate')
}

function checkOutcome(run: Run, unit: AppliedUnit, outcome: Outcome, before: Before): void {
  const after = run.ledger.accounts.get(accountOf(unit))
  const available = (state: AccountState | undefined): bigint => (state ? state.balance - state.held : 0n)
  switch (outcome.kind) {
    case 'held':
      assert.ok(unit.kind === 'hold' || unit.kind === 'extend')
      checkHeld(run, unit, outcome)
      return
    case 'refused':
      assert.ok(unit.kind === 'hold' || unit.kind === 'extend')
      assert.equal(after?.held, before.account?.held ?? 0n, 'INV-11: nothing is held of the account')
      assert.deepEqual(
        KEYS.map((key) => run.ledger.keys.get(key)),
        before.keys,
        'INV-11: nothing is held of the key',
      )
      assert.equal(run.ledger.holds.size, before.holds, 'INV-11: there is no hold')
      return
    case 'already':
      assert.equal(after, before.account, 'INV-8: nothing moves')
      assert.deepEqual([run.ledger.holds.size, run.ledger.completions.size], [before.holds, before.completions])
      return
    case 'failed':
      assert.fail(outcome.message)
  }
  if (unit.kind === 'settle' || unit.kind === 'release') checkResolved(run, unit, before)
  if (!('terms' in unit) || unit.terms.billing === 'postpaid') return
  const least = unit.kind === 'settle' && !unit.unrecorded ? -capOf(unit, before) : -overrunOf(unit, before)
  const floor = available(before.account) < 0n ? available(before.account) : 0n
  const expected = unit.kind === 'settle' && !unit.unrecorded ? smaller(floor, least) : floor + least
  assert.ok(
    available(after) >= expected,
    'INV-3: only what is beyond its hold takes credit below zero, down to the cap',
  )
}

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** LED-7: how far all requests together may take the account below zero. */
function capOf({ terms }: Extract<AppliedUnit, { kind: 'settle' }>, { account }: Before): bigint {
  return account?.maxOverrun ?? terms.maxOverrunNanoUsd ?? 50_000_000n
}

/** LED-7: what a unit may take beyond what was held for it. */
function overrunOf(unit: AppliedUnit, { held }: Before): bigint {
  if (unit.kind === 'entry') return unit.entry.kind === 'charge' ? unit.entry.nanoUsd : 0n
  if (unit.kind !== 'settle') return 0n
  const overrun = unit.record.costNanoUsd - (held ?? 0n)
  return overrun > 0n ? overrun : 0n
}

function checkHeld(
  run: Run,
  unit: Extract<AppliedUnit, { kind: 'hold' | 'extend' }>,
  outcome: Extract<Outcome, { kind: 'held' }>,
): void {
  const account = run.ledger.accounts.get(unit.accountId)
  const hold = run.ledger.holds.get(unit.id)
  assert.ok(account && hold)
  assert.equal(hold.amount, outcome.nanoUsd)
  if (unit.kind === 'hold') {
    const { outputTokens } = outcome
    const pico = BigInt(unit.promptTokens * unit.inputPrice) + BigInt(outputTokens * unit.choices * unit.outputPrice)
    assert.equal(outcome.nanoUsd, (pico + 999n) / 1000n, 'INV-10: the hold is its formula')
    assert.ok(
      outputTokens === unit.outputTokens || (unit.flexible && outputTokens >= 256 && outputTokens < unit.outputTokens),
    )
    run.admitted.set(unit.id, { unit, version: Number(unit.priceVersion.slice(6)), outputTokens })
  }
  if (unit.kind === 'hold' && outcome.nanoUsd === 0n) return
  if (unit.terms.billing === 'prepaid') assert.ok(account.balance >= account.held, 'INV-3: what is held is there')
  if (account.monthlyBudget !== undefined)
    assert.ok(account.spent + account.held <= account.monthlyBudget, 'INV-3: budget')
  if (unit.keyBudgetNanoUsd === undefined || !hold.ofKeyBudget) return
  const key = run.ledger.keys.get(hold.keyId)
  assert.ok(key && key.spent + key.held <= unit.keyBudgetNanoUsd, 'INV-11: the budget of the key within the account')
}

/** INV-4 and INV-10: once, and for what the tokens cost at the price of admission. */
function checkResolved(run: Run, unit: Extract<AppliedUnit, { kind: 'settle' | 'release' }>, before: Before): void {
  const id = unit.kind === 'settle' ? unit.record.id : unit.id
  const isFinal = unit.kind === 'settle' && !unit.provisional
  assert.ok(isFinal || before.held !== undefined, 'INV-4: what is no settlement needs a hold')
  for (const what of [isFinal ? ['settled'] : [], before.held === undefined ? [] : ['hold ended']].flat()) {
    const times = (run.resolved.get(`${id} ${what}`) ?? 0) + 1
    run.resolved.set(`${id} ${what}`, times)
    assert.equal(times, 1, `INV-4: ${what} once`)
  }
  assert.ok(!run.ledger.holds.has(id), 'INV-4: the hold has ended')
  if (unit.kind === 'release') return
  const { promptTokens, completionTokens, cachedTokens, priceVersion } = unit.record
  const {
    inputMicroUsd,
    outputMicroUsd,
    cachedInputMicroUsd = inputMicroUsd,
  } = at(PRICES, Number(priceVersion.slice(6)))
  const pico =
    BigInt(promptTokens - cachedTokens) * BigInt(inputMicroUsd) +
    BigInt(cachedTokens) * BigInt(cachedInputMicroUsd) +
    BigInt(completionTokens) * BigInt(outputMicroUsd)
  const charged = rowsOf(run.ledger, accountOf(unit))
    .filter(
      ({ completionId: whose, adjusts, note }) => whose === id && (adjusts === undefined || note === LATE_SETTLEMENT),
    )
    .reduce((sum, { kind, amount: size }) => (kind === 'charge' ? sum + size : sum - size), 0n)
  const unbilled = run.ledger.completions.get(id)?.unbilledNanoUsd ?? 0n
  assert.equal(charged + unbilled, (pico + 999n) / 1000n, 'INV-10: the charge is its formula, but for what is unbilled')
  if (before.held !== undefined) assert.ok(unbilled === 0n || charged >= before.held, 'LED-7: what was held is charged')
}

/** INV-6: when everything has ended, nothing is held. */
function comeToRest(run: Run): void {
  for (const [id, { accountId }] of run.ledger.holds)
    applyBatch(run.ledger, { kind: 'release', accountId, id }, run.now)
  checkLedger(run.ledger)
  for (const windows of run.ledger.budgets.windows.values())
    for (const { held } of windows.values()) assert.equal(held, 0n, 'INV-6: at rest')
  for (const { held } of run.ledger.accounts.values()) assert.equal(held, 0n, 'INV-6: at rest')
  for (const { held } of run.ledger.keys.values()) assert.equal(held, 0n, 'INV-6: at rest')
}

test(`INV-1, INV-2, INV-3, INV-4, INV-6, INV-8, INV-9, INV-10, INV-11, INV-14 and alerts: ${RUNS} runs of anything in any order`, () => {
  const reached: Reached = new Map()
  const property = fc.property(STEPS, (steps) => play(steps, reached))
  fc.assert(property, { numRuns: RUNS })
  for (const name of REACHABLE) assert.ok((reached.get(name) ?? 0) >= 30, `${name}: ${reached.get(name)}`)
})
