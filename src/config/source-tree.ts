/** The configuration as written, before validation: a tree with the position of each part. */

export interface SourceNode {
  /** Position: `turnpike.yaml:3:5`, `environment: PORT`, `--port`. */
  readonly origin: string
  readonly content: SourceContent
}

export type SourceContent = SourceScalar | SourceList | SourceMapping | SourceUnreadable

export interface SourceScalar {
  readonly type: 'scalar'
  readonly value: string | number | boolean | null
  /** Whether it is a text from outside the file, where numbers and booleans are text, too. */
  readonly loose: boolean
  /** The text with unresolved references, for messages: their values may be secret. */
  readonly template?: string
}
interface SourceList {
  readonly type: 'list'
  readonly items: readonly SourceNode[]
}
interface SourceMapping {
  readonly type: 'mapping'
  readonly entries: Map<string, SourceEntry>
}
/** Its problem is already reported. */
interface SourceUnreadable {
  readonly type: 'unreadable'
}

export interface SourceEntry {
  readonly keyOrigin: string
  readonly node: SourceNode
}

export type SettingPath = readonly (string | number)[]

export function emptyTree(origin: string): SourceNode {
  return { origin, content: { type: 'mapping', entries: new Map() } }
}

/** A tree of a parsed JSON value, whose messages need no position. */
export function treeOfJson(value: unknown): SourceNode {
  return { origin: '', content: contentOfJson(value) }
}

function contentOfJson(value: unknown): SourceContent {
  if (Array.isArray(value)) return { type: 'list', items: value.map(treeOfJson) }
  if (typeof value !== 'object' || value === null) return { type: 'scalar', value: value as string, loose: false }
  const entries = Object.entries(value).map(
    ([name, part]) => [name, { keyOrigin: '', node: treeOfJson(part) }] as const,
  )
  return { type: 'mapping', entries: new Map(entries) }
}

/** Whether a setting is set: an empty text means that it is not. */
export function isSet(node: SourceNode | undefined): node is SourceNode {
  return node !== undefined && !(node.content.type === 'scalar' && node.content.value === '')
}

export function childOf(node: SourceNode | undefined, name: string | number): SourceNode | undefined {
  if (node?.content.type === 'mapping') return node.content.entries.get(String(name))?.node
  if (node?.content.type === 'list') return node.content.items[Number(name)]
  return undefined
}

/** Puts a text from outside the file at `path`, creating mappings on the way. Leaves other nodes unchanged. */
export function overlay(tree: SourceNode, path: readonly string[], setting: { value: string; origin: string }): void {
  const { value, origin } = setting
  const [name, ...rest] = path
  if (name === undefined || tree.content.type !== 'mapping') return
  const entries = tree.content.entries
  if (rest.length === 0) {
    const content: SourceContent = { type: 'scalar', value, loose: true }
    entries.set(name, { keyOrigin: origin, node: { origin, content } })
    return
  }
  const child = entries.get(name)?.node
  const node = child === undefined || isNothing(child) ? emptyTree(origin) : child
  entries.set(name, { keyOrigin: entries.get(name)?.keyOrigin ?? origin, node })
  overlay(node, rest, setting)
}

/** Returns the position of the setting, or of its nearest parent that exists. */
export function originOf(tree: SourceNode, path: SettingPath): string {
  let node = tree
  for (const name of path) {
    const child = childOf(node, name)
    if (child === undefined) break
    node = child
  }
  return node.origin
}

/** Renders a path: `models[0].pricing`. */
export function pathText(path: SettingPath): string {
  return path
    .map((part) => {
      if (typeof part === 'number') return `[${part}]`
      return /^[\w-]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
    })
    .join('')
    .replace(/^\./, '')
}

/** One line of a `ConfigError`. @param origin Position in the file, or another source. */
export function problemText(origin: string, path: SettingPath, text: string): string {
  return [origin, pathText(path), text].filter((part) => part !== '').join(': ')
}

function isNothing(node: SourceNode): boolean {
  return node.content.type === 'scalar' && (node.content.value === null || node.content.value === '')
}

/** An invalid configuration. Each problem is one line: position, setting, value found, values allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  /** @param problems At least one; none of them shows a secret. */
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}
