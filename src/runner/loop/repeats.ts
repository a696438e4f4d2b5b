/** Notices a model that does the same over and over: the same call with the same failure, while no file was changed. */
import { hash } from 'node:crypto'

export interface Repeats {
  /** @returns How often it has been so, this time included; 0 for what did not fail. */
  count(
    call: { readonly name: string; readonly arguments: string },
    outcome: { readonly hasFailed: boolean; readonly output: string },
  ): number
}

/** Of a shell command's first line: it differs each time. */
const DURATION = /, after \d+\.\d s/

export function createRepeats(): Repeats {
  const seen = new Map<string, number>()
  return {
    count({ name, arguments: json }, { hasFailed, output }) {
      if (!hasFailed) {
        if (name === 'edit' || name === 'create') seen.clear()
        return 0
      }
      const key = hash('sha256', JSON.stringify([name, json, output.replace(DURATION, '')]))
      const times = (seen.get(key) ?? 0) + 1
      seen.set(key, times)
      return times
    },
  }
}
