const MARKS = /\p{M}/gu
const LONGEST = 60

/**
 * A name as a part of an address: lower case, its Latin letters and digits, everything else one dash.
 * @returns '' for a name without any.
 */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(MARKS, '').toLowerCase()
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-|-$/g, '')
}
