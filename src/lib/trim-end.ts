/** The text without the repetitions of `character` at its end. In linear time, which `replace(/x+$/, '')` does not take. */
export function trimEndOf(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
