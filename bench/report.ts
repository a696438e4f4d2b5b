/** Tables and verdicts on the terminal. */
import { styleText } from 'node:util'

/** What is compared, in the order of the columns. */
export const TARGETS = ['nginx', 'forwarder', 'gateway'] as const
export type TargetName = (typeof TARGETS)[number]

export interface Row {
  readonly figure: string
  /** Of the targets that were measured. */
  readonly values: Readonly<Partial<Record<TargetName, number>>>
  readonly digits: number
  /** The gateway's value over the forwarder's; undefined: it means nothing. */
  readonly ratio: number | undefined
}

/** A figure against its budget; both in the unit that `figure` names. */
export interface Verdict {
  readonly figure: string
  readonly measured: number
  readonly budget: number
}

export function printTable(rows: readonly Row[]): void {
  const shown = TARGETS.filter((name) => rows.some(({ values }) => values[name] !== undefined))
  const lines = [['', ...shown, 'ratio'], ...rows.map((row) => cellsOf(row, shown))]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? []
  for (const [figure = '', ...cells] of lines) {
    const padded = cells.map((cell, at) => cell.padStart(widths[at + 1] ?? 0))
    console.log([figure.padEnd(widths[0] ?? 0), ...padded].join('  '))
  }
}

function cellsOf({ figure, values, digits, ratio }: Row, shown: readonly TargetName[]): string[] {
  const cells = shown.map((name) => values[name]?.toFixed(digits) ?? '')
  return [figure, ...cells, ratio === undefined ? '' : `${ratio.toFixed(2)} ×`]
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
