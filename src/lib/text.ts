/** Text: escaping for HTML, names in URLs, repetitions at the end. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for use between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

const MARKS = /\p{M}/gu
const LONGEST = 60

/**
 * Converts a name to a part of a URL: Latin letters in lower case and digits, everything else a dash.
 * @returns '' for a name without any.
 */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(MARKS, '').toLowerCase()
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-|-$/g, '')
}

/** The text without the repetitions of `character` at its end. In linear time, which `replace(/x+$/, '')` does not take. */
export function trimEndOf(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
