/** Tables and verdicts on the terminal. */
import { styleText } from 'node:util'

export const FORWARDER = 'forwarder'
export const TURNPIKE = 'Turnpike SQLite'

export interface Row {
  readonly figure: string
  /** By the names of the targets that were measured. */
  readonly values: Readonly<Record<string, number>>
  readonly digits: number
}

/** Turnpike's value over the forwarder's; undefined if one is missing or nothing can be compared with it. */
export function ratioOf({ values }: Row): number | undefined {
  const [bare = 0, own] = [values[FORWARDER], values[TURNPIKE]]
  return own === undefined || bare <= 0 ? undefined : own / bare
}

/** A figure against its budget; both in the unit that `figure` names. */
export interface Verdict {
  readonly figure: string
  readonly measured: number
  readonly budget: number
}

/** @param names The columns, in their order. */
export function printTable(rows: readonly Row[], names: readonly string[]): void {
  for (const line of tableLines(rows, names)) console.log(line)
}

export function tableLines(rows: readonly Row[], names: readonly string[]): readonly string[] {
  const cells = [['', ...names, 'Turnpike SQLite / forwarder'], ...rows.map((row) => cellsOf(row, names))]
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? []
  return cells.map(([figure = '', ...values]) => {
    const padded = values.map((value, at) => value.padStart(widths[at + 1] ?? 0))
    return [figure.padEnd(widths[0] ?? 0), ...padded].join('  ').trimEnd()
  })
}

function cellsOf(row: Row, names: readonly string[]): string[] {
  const ratio = ratioOf(row)
  const values = names.map((name) => row.values[name]?.toFixed(row.digits) ?? '–')
  return [row.figure, ...values, ratio === undefined ? '' : `${ratio.toFixed(2)} ×`]
}

/** @returns whether all budgets hold. */
export function printVerdicts(verdicts: readonly Verdict[]): boolean {
  for (const { figure, measured, budget } of verdicts) {
    const holds = measured <= budget
    const word = holds ? styleText('green', 'holds') : styleText('red', 'BROKEN')
    console.log(`${word.padEnd(6)}  ${figure}: ${measured.toFixed(2)}, budget ${budget.toFixed(2)}`)
  }
  const broken = brokenVerdicts(verdicts).length
  console.log(`\nbudgets: ${verdicts.length - broken} hold, ${broken} broken`)
  return broken === 0
}

export function brokenVerdicts(verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.filter(({ measured, budget }) => !(measured <= budget))
}

/** What `--guard` allows above a budget: a short run on a machine that others use differs by as much. */
export const GUARD_TOLERANCE = 1.15

export function withTolerance(verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.map((verdict) => ({ ...verdict, budget: verdict.budget * GUARD_TOLERANCE }))
}
