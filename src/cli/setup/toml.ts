/** Changes settings in a TOML text and keeps every other line, comments among them. */

export interface TomlSettings {
  /** Keys above the first table. */
  readonly top: Readonly<Record<string, string>>
  /** The name of a table, which is replaced as a whole. */
  readonly table: string
  readonly values: Readonly<Record<string, string>>
}

const HEADER = /^\s*\[/
const MULTILINE = /"""|'''/

/** @throws Error for texts of several lines, in which a line may look like a setting. */
export function withTomlSettings(text: string, { top, table, values }: TomlSettings): string {
  if (MULTILINE.test(text)) throw new Error('it has texts of several lines.')
  const lines = text.trimEnd() === '' ? [] : text.trimEnd().split('\n')
  const first = lines.findIndex((line) => HEADER.test(line))
  const end = first < 0 ? lines.length : first
  const head = withTop(lines.slice(0, end), top)
  const tables = withoutTable(lines.slice(end), table)
  const own = [`[${table}]`, ...Object.entries(values).map(setting)]
  return [...paragraph(head), ...paragraph(tables), ...own, ''].join('\n')
}

function setting([name, value]: readonly [name: string, value: string]): string {
  return `${name} = ${JSON.stringify(value)}` // a basic string of TOML has the escapes of JSON
}

function withTop(lines: readonly string[], settings: Readonly<Record<string, string>>): readonly string[] {
  const left = new Map(Object.entries(settings))
  const changed = lines.map((line) => {
    const name = /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] ?? ''
    const value = left.get(name)
    if (value === undefined) return line
    left.delete(name)
    return setting([name, value])
  })
  return [...[...left].map(setting), ...changed]
}

/** @param lines From the first header on. */
function withoutTable(lines: readonly string[], table: string): readonly string[] {
  let isOwn = false
  return lines.filter((line) => {
    if (HEADER.test(line)) isOwn = line.trim().startsWith(`[${table}]`)
    return !isOwn
  })
}

/** The lines and an empty one after them. */
function paragraph(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return last < 0 ? [] : [...lines.slice(0, last + 1), '']
}
