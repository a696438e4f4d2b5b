/**
 * The way to money for everything that asks providers: holds and settlements through the group commit, and each step
 * noted in the spool at the moment from which it must survive this process.
 */
import type { CreditPort, Hold, HoldAsk } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { reach } from '../../lib/crash-point.ts'
import { invariant } from '../../lib/invariant.ts'
import type { Committer } from './committer.ts'
import { createExposure, type Exposure, fitExposure, intentUnit } from './outage.ts'
import { paymentRequired } from './payment-required.ts'
import type { Spool, Spooled } from './spool.ts'
import type { ExtendUnit, HoldUnit, Outcome, PlanTerms, SettleUnit } from './unit.ts'

const RETRY_AFTER_MS = 1_000

export interface CreditPortInput {
  readonly committer: Committer
  readonly spool: Spool
  /** Terms of a plan by its name; asked for with every request. */
  readonly terms: (plan: string) => PlanTerms
  readonly instanceId: string
  /** See `InstanceLease.ensure`; undefined: the lease is somebody else's concern. */
  readonly ensureLease?: () => Promise<boolean> | boolean
  /** What each account may have under way while the database is away; 0: nothing is admitted then. */
  readonly exposureNanoUsd: () => NanoUsd
  readonly log: { error(fields: object, message: string): void }
}

/** A hold with what its end needs to know. Each request has one, so all have the same shape. */
interface OpenHold extends Hold, Spooled {
  readonly terms: PlanTerms
  readonly keyBudgetNanoUsd: NanoUsd | undefined
  /** It was settled or released. */
  resolved: boolean
}

interface Desk extends CreditPortInput {
  readonly exposure: Exposure
  /** Requests that are admitted, or about to be, and not settled. */
  running: number
}

export function createCreditPort(input: CreditPortInput): CreditPort {
  const { committer, spool, exposureNanoUsd } = input
  const desk: Desk = { ...input, exposure: createExposure(exposureNanoUsd), running: 0 }
  committer.onAvailability((available) => {
    if (!available) spool.sync()
  })
  return {
    hold: (ask) => hold(desk, ask),
    dispatched: (held) => spool.dispatched(own(held)),
    extend: (held, nanoUsd) => (held.unrecorded ? extendUnrecorded(desk, held, nanoUsd) : extend(desk, held, nanoUsd)),
    release: (held) => release(desk, own(held)),
    settle(held, record, kept) {
      const open = own(held)
      const { terms, unrecorded, amountNanoUsd } = open
      const promisedNanoUsd = unrecorded ? amountNanoUsd : undefined
      return settle(desk, open, { kind: 'settle', record, terms, unrecorded, promisedNanoUsd, kept })
    },
  }
}

function own(held: Hold): OpenHold {
  return held as OpenHold // the port is only ever given what it has made
}

async function hold(desk: Desk, ask: HoldAsk): Promise<Hold> {
  if (!desk.spool.room(desk.running)) throw noRoom()
  const terms = desk.terms(ask.caller.plan)
  desk.running += 1
  let held: OpenHold | undefined
  try {
    held = await holdRecorded(desk, ask, terms)
  } finally {
    if (held === undefined) desk.running -= 1
  }
  return held
}

async function holdRecorded(desk: Desk, ask: HoldAsk, terms: PlanTerms): Promise<OpenHold> {
  let outcome: Outcome
  try {
    const leased = desk.ensureLease?.() ?? true
    // Others may sweep at once what is held under a lease that has lapsed.
    if (leased !== true && desk.committer.available() && !(await leased)) throw leaseLapsed()
    outcome = await desk.committer.hold(holdUnit(ask, terms, desk.instanceId))
  } catch (error) {
    if (!isUnavailable(error) || desk.exposureNanoUsd() <= 0n) throw error
    return holdUnrecorded(desk, { ask, terms, cause: error })
  }
  if (outcome.kind === 'held') {
    const { nanoUsd, outputTokens } = outcome
    return openHold({ ask, terms, nanoUsd, outputTokens, unrecorded: false })
  }
  if (outcome.kind === 'refused') throw paymentRequired(outcome)
  desk.log.error({ id: ask.id, outcome }, 'a hold was refused by the database')
  throw new GatewayError('internal_error', 'The cost of this request could not be reserved.')
}

interface Unchecked {
  readonly ask: HoldAsk
  readonly terms: PlanTerms
  /** That the database is away. */
  readonly cause: unknown
}

async function holdUnrecorded(desk: Desk, { ask, terms, cause }: Unchecked): Promise<OpenHold> {
  const { spool, exposure } = desk
  const { accountId } = ask.caller
  const fit = fitExposure(ask, exposure.left(accountId))
  if (fit === undefined) throw cause
  const held = openHold({ ask, terms, ...fit, unrecorded: true })
  exposure.add(accountId, fit.nanoUsd)
  try {
    await spool.intent(held, intentUnit(ask, terms))
    return held
  } catch {
    exposure.add(accountId, -fit.nanoUsd)
    spool.released(held)
    throw cause
  }
}

async function extend({ committer }: Desk, held: Hold, nanoUsd: NanoUsd): Promise<boolean> {
  const { accountId, id, terms, keyBudgetNanoUsd } = own(held)
  const unit: ExtendUnit = { kind: 'extend', accountId, id, terms, keyBudgetNanoUsd, nanoUsd }
  try {
    const outcome = await committer.extend(unit)
    if (outcome.kind !== 'held') return false
    held.amountNanoUsd = outcome.nanoUsd
    return true
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

function extendUnrecorded({ exposure }: Desk, held: Hold, nanoUsd: NanoUsd): Promise<boolean> {
  if (nanoUsd > exposure.left(held.accountId)) return Promise.resolve(false)
  exposure.add(held.accountId, nanoUsd)
  held.amountNanoUsd += nanoUsd
  return Promise.resolve(true)
}

function release(desk: Desk, held: OpenHold): void {
  const { accountId, id } = held
  resolve(desk, held)
  desk.spool.released(held)
  if (held.unrecorded) desk.exposure.add(accountId, -held.amountNanoUsd)
  else desk.committer.release({ kind: 'release', accountId, id })
}

function settle(desk: Desk, held: OpenHold, unit: SettleUnit): Promise<void> {
  const { spool, committer } = desk
  reach('before_settle')
  resolve(desk, held)
  const place = spool.settled(unit)
  reach('in_settle')
  const committed = committer.settle(unit)
  spool.follow(committed, place, held)
  if (held.unrecorded) settleExposure(desk, { held, unit, committed })
  if (!committer.available()) spool.sync()
  return committed
}

/** The database would take no notice of a second time; a process that tries does not know what it has promised. */
function resolve(desk: Desk, held: OpenHold): void {
  invariant(!held.resolved, `The hold of ${held.id} was resolved twice.`)
  held.resolved = true
  desk.running -= 1
  invariant(desk.running >= 0, 'More requests were settled than were admitted.')
}

/** What it came to is outstanding instead of what was held, until the database has it. */
function settleExposure(
  { exposure }: Desk,
  end: { readonly held: OpenHold; readonly unit: SettleUnit; readonly committed: Promise<void> },
): void {
  const { accountId, amountNanoUsd } = end.held
  const { costNanoUsd } = end.unit.record
  exposure.add(accountId, costNanoUsd - amountNanoUsd)
  void end.committed.then(() => exposure.add(accountId, -costNanoUsd))
}

function holdUnit(ask: HoldAsk, terms: PlanTerms, instanceId: string): HoldUnit {
  const { caller, rates } = ask
  return {
    kind: 'hold',
    accountId: caller.accountId,
    keyId: caller.keyId,
    id: ask.id,
    terms,
    keyBudgetNanoUsd: caller.monthlyBudgetNanoUsd,
    instanceId,
    promptTokens: ask.promptTokens,
    outputTokens: ask.outputTokens,
    choices: ask.choices,
    flexible: ask.flexible,
    tentative: ask.tentative === true,
    inputPrice: rates.inputMicroUsd,
    outputPrice: rates.outputMicroUsd,
    fixedNanoUsd: rates.fixedNanoUsd,
    model: ask.model,
    provider: ask.provider,
    stream: ask.stream,
    priceVersion: ask.priceVersion,
    createdAt: ask.createdAt,
    clientRequestId: ask.clientRequestId,
  }
}

interface Granted {
  readonly ask: HoldAsk
  readonly terms: PlanTerms
  readonly nanoUsd: NanoUsd
  readonly outputTokens: number
  readonly unrecorded: boolean
}

function openHold({ ask, terms, nanoUsd, outputTokens, unrecorded }: Granted): OpenHold {
  const { caller } = ask
  return {
    id: ask.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    outputTokens,
    amountNanoUsd: nanoUsd,
    unrecorded,
    terms,
    keyBudgetNanoUsd: caller.monthlyBudgetNanoUsd,
    dispatchedAt: undefined,
    intentAt: undefined,
    resolved: false,
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'database_unavailable'
}

function leaseLapsed(): GatewayError {
  return new GatewayError('database_unavailable', 'The lease of this process could not be renewed.', {
    retryAfterMs: RETRY_AFTER_MS,
  })
}

function noRoom(): GatewayError {
  return new GatewayError('database_unavailable', 'Charges cannot be recorded at the moment.', {
    retryAfterMs: RETRY_AFTER_MS,
  })
}
