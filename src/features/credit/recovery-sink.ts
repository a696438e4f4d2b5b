/** Hands what was read from a spool to the ledger, many units at a time, and counts what came of it. */
import type { Outcome, ReleaseUnit, SettleUnit, Unit } from './unit.ts'

const BATCH_SIZE = 500
const BATCH_BYTES = 8 * 1024 * 1024
const NO_LINE = new Uint8Array(0)

export interface Recovered {
  /** Settlements that the database did not have, exact or estimated. */
  settled: number
  /** What the database had already. */
  already: number
  released: number
  /** Lines that could not be read, or that the ledger refused. */
  readonly unusable: Uint8Array[]
}

export interface RecoverySink {
  readonly recovered: Recovered
  /** Rejects when the database is not available. @param line Kept if the ledger refuses the unit. */
  add(unit: SettleUnit | ReleaseUnit, line?: Uint8Array): Promise<void>
  flush(): Promise<void>
}

interface Item {
  readonly unit: SettleUnit | ReleaseUnit
  readonly line: Uint8Array
}

export function createRecoverySink(submit: (unit: Unit) => Promise<Outcome>): RecoverySink {
  const recovered: Recovered = { settled: 0, already: 0, released: 0, unusable: [] }
  let items: Item[] = []
  let bytes = 0
  const flush = async () => {
    const batch = items
    items = []
    bytes = 0
    const outcomes = await Promise.all(batch.map(({ unit }) => submit(unit)))
    for (const [index, item] of batch.entries()) count(recovered, item, outcomes[index])
  }
  return {
    recovered,
    async add(unit, line = NO_LINE) {
      items.push({ unit, line })
      bytes += line.length
      if (items.length >= BATCH_SIZE || bytes >= BATCH_BYTES) await flush()
    },
    flush,
  }
}

function count(recovered: Recovered, { unit, line }: Item, outcome: Outcome | undefined): void {
  if (outcome?.kind === 'done' || outcome?.kind === 'corrected')
    recovered[unit.kind === 'settle' ? 'settled' : 'released'] += 1
  else if (outcome?.kind === 'failed') recovered.unusable.push(line)
  else recovered.already += 1
}
