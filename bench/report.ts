/** Tables and verdicts on the terminal. */
import { styleText } from 'node:util'

export interface Row {
  readonly figure: string
  readonly forwarder: string
  readonly gateway: string
  readonly ratio: string
}

/** A figure against its budget; both in the unit that `figure` names. */
export interface Verdict {
  readonly figure: string
  readonly measured: number
  readonly budget: number
}

export function printTable(rows: readonly Row[]): void {
  const all: readonly Row[] = [{ figure: '', forwarder: 'forwarder', gateway: 'gateway', ratio: 'ratio' }, ...rows]
  const width = (name: keyof Row): number => Math.max(...all.map((row) => row[name].length))
  const [figure, forwarder, gateway, ratio] = [width('figure'), width('forwarder'), width('gateway'), width('ratio')]
  for (const row of all) {
    console.log(
      `${row.figure.padEnd(figure)}  ${row.forwarder.padStart(forwarder)}  ${row.gateway.padStart(gateway)}  ${row.ratio.padStart(ratio)}`,
    )
  }
}

/** @returns whether all budgets hold. */
export function printVerdicts(verdicts: readonly Verdict[]): boolean {
  for (const { figure, measured, budget } of verdicts) {
    const holds = measured <= budget
    const word = holds ? styleText('green', 'holds') : styleText('red', 'BROKEN')
    console.log(`${word.padEnd(6)}  ${figure}: ${measured.toFixed(2)}, budget ${budget.toFixed(2)}`)
  }
  const broken = verdicts.filter(({ measured, budget }) => !(measured <= budget)).length
  console.log(`\nbudgets: ${verdicts.length - broken} hold, ${broken} broken`)
  return broken === 0
}
