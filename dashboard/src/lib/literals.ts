/** JSON values as source text. Strings stay on one line, and show by escapes what one would not see. */
import type { Json } from './code-samples.ts'

type Value = Json | ReadonlyMap<string, Json>

interface Language {
  readonly indent: string
  readonly atoms: Readonly<Record<'true' | 'false' | 'null', string>>
  readonly field: (name: string) => string
}

const PYTHON: Language = {
  indent: '    ',
  atoms: { true: 'True', false: 'False', null: 'None' },
  field: quoted,
}

const TYPESCRIPT: Language = {
  indent: '  ',
  atoms: { true: 'true', false: 'false', null: 'null' },
  // In an object literal, `__proto__` would be the prototype unless its name is computed.
  field: (name) => (name === '__proto__' ? '["__proto__"]' : /^[a-z_][\w]*$/i.test(name) ? name : quoted(name)),
}

/** @param indent Of the line on which the value begins. */
export function renderPython(value: Value, indent = ''): string {
  return render(value, PYTHON, indent)
}

/** @param indent Of the line on which the value begins. */
export function renderTypescript(value: Value, indent = ''): string {
  return render(value, TYPESCRIPT, indent)
}

function render(value: Value, language: Language, indent: string): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return JSON.stringify(value) === 'null' ? language.atoms.null : JSON.stringify(value)
  if (value === null) return language.atoms.null
  if (typeof value === 'boolean') return language.atoms[value ? 'true' : 'false']
  const inner = indent + language.indent
  const items = isList(value)
    ? value.map((item) => render(item, language, inner))
    : fieldsOf(value).map(([name, item]) => `${language.field(name)}: ${render(item, language, inner)}`)
  const [open, close] = isList(value) ? '[]' : '{}'
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}

function fieldsOf(
  value: { readonly [name: string]: Json } | ReadonlyMap<string, Json>,
): readonly (readonly [string, Json])[] {
  return value instanceof Map ? [...value] : Object.entries(value)
}

/** In double quotes, as JSON, which JavaScript and Python read alike. */
function quoted(text: string): string {
  return visible(JSON.stringify(text))
}

/** Control characters, marks that turn the direction of text, invisible spaces and separators. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** JSON text with escapes for what is not seen, and for what would read otherwise than it looks. */
export function visible(json: string): string {
  return json.replaceAll(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
