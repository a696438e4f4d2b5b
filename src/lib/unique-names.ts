/** Names that do not repeat: one that is taken gets the next number that is free. */
export interface UniqueNames {
  /**
   * Takes `name`, or where that is taken `stem` with the lowest free number from 2 on. In constant time on average, however
   * often a stem comes.
   */
  take(name: string, stem: string): string
}

/** @param before What precedes the number. @param after What follows it. */
export function createUniqueNames(before: string, after = ''): UniqueNames {
  const taken = new Set<string>()
  /** By stem: all lower numbers are taken. */
  const nextNumbers = new Map<string, number>()
  return {
    take(name, stem) {
      let unique = name
      if (taken.has(unique)) {
        let number = nextNumbers.get(stem) ?? 2
        do {
          unique = `${stem}${before}${number}${after}`
          number += 1
        } while (taken.has(unique))
        nextNumbers.set(stem, number)
      }
      taken.add(unique)
      return unique
    },
  }
}
