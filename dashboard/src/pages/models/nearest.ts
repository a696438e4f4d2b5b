/** The names that are most like one that does not exist, the nearest first, three at most. */
export function nearestNames(id: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(id)
  return names
    .map((name) => ({ name, likeness: likeness(wanted, pairsOf(name)) }))
    .filter(({ likeness }) => likeness > LEAST_LIKENESS)
    .toSorted((one, other) => other.likeness - one.likeness)
    .slice(0, 3)
    .map(({ name }) => name)
}

const LEAST_LIKENESS = 0.3

/** Of letters that stand side by side, which misspelled words have in common with what was meant. */
function pairsOf(text: string): ReadonlySet<string> {
  const letters = ` ${text.toLowerCase()} `
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)))
}

/** 0 to 1: twice what both have, of what they have together. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  return (2 * [...one].filter((pair) => other.has(pair)).length) / (one.size + other.size)
}
