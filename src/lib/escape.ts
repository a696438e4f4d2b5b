const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text that is safe between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

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
