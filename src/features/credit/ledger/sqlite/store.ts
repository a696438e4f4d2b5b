/** The ledger on SQLite: each batch is one message to the database's writer thread, which carries it out there. */
import { extname } from 'node:path'
import type { OpenedDatabase } from '../../../../db/database.ts'
import type { Batch, HoldUnit, LedgerStore, Outcome, SettleUnit, Unit } from '../unit.ts'

const NAME = 'ledger'

/** To be given to `openDatabase`. */
export const LEDGER_PROGRAMS: Readonly<Record<string, URL>> = {
  [NAME]: new URL(`./program${extname(import.meta.url)}`, import.meta.url),
}

/** @param database Opened with `LEDGER_PROGRAMS`. */
export function createSqliteStore({ run }: Pick<OpenedDatabase, 'run'>): LedgerStore {
  return {
    commit: (batch) => run(NAME, toWire(batch)) as Promise<readonly Outcome[]>, // that is what the program answers
  }
}

/*
 * A batch on its way to the writer thread. What every request sends travels as a row of values: as an object, the names
 * of its properties would be most of what is copied, written and read again for every unit.
 */

export interface WireBatch {
  readonly rows: readonly UnitRow[]
  readonly now: number | undefined
}

type UnitRow = HoldRow | SettleRow | readonly ['other', Unit]
type HoldRow = ReturnType<typeof holdRow>
type SettleRow = ReturnType<typeof settleRow>

export function toWire({ units, now }: Batch): WireBatch {
  return { rows: units.map(toRow), now }
}

export function unitsOf({ rows }: WireBatch): readonly Unit[] {
  return rows.map(toUnit)
}

function toRow(unit: Unit): UnitRow {
  if (unit.kind === 'hold') return holdRow(unit)
  return unit.kind === 'settle' && !unit.provisional && !unit.uncharged ? settleRow(unit) : ['other', unit]
}

function toUnit(row: UnitRow): Unit {
  if (row[0] === 'hold') return holdOf(row)
  return row[0] === 'settle' ? settleOf(row) : row[1]
}

function holdRow(unit: HoldUnit) {
  return [
    unit.kind,
    unit.accountId,
    unit.keyId,
    unit.id,
    unit.terms,
    unit.keyBudgetNanoUsd,
    unit.instanceId,
    unit.promptTokens,
    unit.outputTokens,
    unit.choices,
    unit.flexible,
    unit.inputPrice,
    unit.outputPrice,
    unit.fixedNanoUsd,
    unit.model,
    unit.provider,
    unit.stream,
    unit.priceVersion,
    unit.createdAt,
    unit.clientRequestId,
    unit.tentative,
    unit.ancestors,
    unit.byokFeePpm,
    unit.api,
    unit.teamId,
    unit.subjects,
    unit.attribution,
    unit.requestId,
  ] as const
}

/** By index: taking a row apart by pattern would walk it with an iterator. */
function holdOf(row: HoldRow): HoldUnit {
  return {
    kind: row[0],
    accountId: row[1],
    keyId: row[2],
    id: row[3],
    terms: row[4],
    keyBudgetNanoUsd: row[5],
    instanceId: row[6],
    promptTokens: row[7],
    outputTokens: row[8],
    choices: row[9],
    flexible: row[10],
    inputPrice: row[11],
    outputPrice: row[12],
    fixedNanoUsd: row[13],
    model: row[14],
    provider: row[15],
    stream: row[16],
    priceVersion: row[17],
    createdAt: row[18],
    clientRequestId: row[19],
    tentative: row[20],
    ancestors: row[21],
    byokFeePpm: row[22],
    api: row[23],
    teamId: row[24],
    subjects: row[25],
    attribution: row[26],
    requestId: row[27],
  }
}

function settleRow({ kind, record, terms, unrecorded, kept, promisedNanoUsd }: SettleUnit) {
  return [
    kind,
    terms,
    unrecorded,
    kept,
    record.id,
    record.accountId,
    record.keyId,
    record.model,
    record.provider,
    record.status,
    record.stream,
    record.finishReason,
    record.promptTokens,
    record.completionTokens,
    record.cachedTokens,
    record.cacheWriteTokens,
    record.reasoningTokens,
    record.costNanoUsd,
    record.priceVersion,
    record.usageSource,
    record.createdAt,
    record.durationMs,
    record.firstByteMs,
    record.attempts,
    record.attemptLog,
    record.clientRequestId,
    record.usageDetail,
    record.priceRule,
    promisedNanoUsd,
    record.api,
    record.teamId,
    record.attribution,
    record.requestId,
    record.providerCostNanoUsd,
  ] as const
}

function settleOf(row: SettleRow): SettleUnit {
  const [kind, terms, unrecorded, kept] = row
  return { kind, terms, unrecorded, kept, promisedNanoUsd: row[28], record: recordOf(row) }
}

function recordOf(row: SettleRow): SettleUnit['record'] {
  return {
    id: row[4],
    accountId: row[5],
    keyId: row[6],
    model: row[7],
    provider: row[8],
    status: row[9],
    stream: row[10],
    finishReason: row[11],
    promptTokens: row[12],
    completionTokens: row[13],
    cachedTokens: row[14],
    cacheWriteTokens: row[15],
    reasoningTokens: row[16],
    costNanoUsd: row[17],
    priceVersion: row[18],
    usageSource: row[19],
    createdAt: row[20],
    durationMs: row[21],
    firstByteMs: row[22],
    attempts: row[23],
    attemptLog: row[24],
    clientRequestId: row[25],
    usageDetail: row[26],
    priceRule: row[27],
    api: row[29],
    teamId: row[30],
    attribution: row[31],
    requestId: row[32],
    providerCostNanoUsd: row[33],
  }
}
