/** Failed requests by what their last call failed with. */
import { failureText } from './provider-health.ts'
import type { Completion } from './queries.ts'

interface Failed {
  readonly status: string
  readonly provider: string
  readonly model: string
  readonly attempt_log: readonly {
    readonly provider: string
    readonly outcome: string
    readonly status: number | null
  }[]
}

export interface Cause<Row = Completion> {
  /** `openai rejected our credentials (401)` */
  readonly text: string
  readonly newest: Row
  readonly count: number
  /** The first three, by how new. */
  readonly models: readonly string[]
}

const SHOWN_CAUSES = 5
const SHOWN_MODELS = 3

/** @param rows The newest first, which is also the order of the causes. */
export function causesOf<Row extends Failed>(rows: readonly Row[]): readonly Cause<Row>[] {
  const groups = Map.groupBy(rows, (row) => `${row.status} ${textOf(row)}`)
  return [...groups.values()].slice(0, SHOWN_CAUSES).flatMap((all) => {
    const [newest] = all
    if (newest === undefined) return []
    const models = [...new Set(all.map(({ model }) => model))].slice(0, SHOWN_MODELS)
    return [{ text: textOf(newest), newest, count: all.length, models }]
  })
}

function textOf({ attempt_log: attempts, provider }: Failed): string {
  return failureText(attempts) ?? `${provider}: cause unknown`
}
