/** Markup that is safe to put into a page: what a template is filled with is text, unless it is markup itself. */
import { escapeHtml } from '../../lib/html.ts'

export interface Html {
  readonly markup: string
}

/** What may stand in a template. Nothing comes of `undefined` and `false`. */
export type Part = string | number | Html | undefined | false | readonly Part[]

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: texts.map((text, index) => text + render(parts[index])).join('') }
}

function render(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  return 'markup' in part ? part.markup : part.map(render).join('')
}
