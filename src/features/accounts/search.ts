import { type RawBuilder, sql } from 'kysely'

/** Whether an account's name has the text in it, in capitals or not, or its id is the text. The same on both databases. */
export function foundBy(search: string): RawBuilder<boolean> {
  const pattern = `%${folded(search).replace(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`(${foldedName(search)} like ${pattern} escape '\\' or id = ${search})`
}

/**
 * The databases know the capitals of A to Z alone, so that those of other letters that are searched for are replaced by
 * name: as many as the search has.
 */
function foldedName(search: string): RawBuilder<string> {
  const others = new Set(folded(search).match(/[^\p{ASCII}]/gu))
  return [...others]
    .filter((letter) => capitalOf(letter) !== letter)
    .reduce((name, letter) => sql<string>`replace(${name}, ${capitalOf(letter)}, ${letter})`, sql<string>`lower(name)`)
}

/** Letter by letter: no other letters become more or fewer. */
function folded(text: string): string {
  return Array.from(text, (letter) => {
    const small = letter.toLowerCase()
    return capitalOf(small) === letter ? small : letter
  }).join('')
}

/** The letter itself where its capital is several letters, or has another small one. */
function capitalOf(letter: string): string {
  const capital = letter.toUpperCase()
  return [...capital].length === 1 && capital.toLowerCase() === letter ? capital : letter
}
