/** The settings in force with their sources, without secrets, and the differences between two configurations. */
import type { Json } from '../lib/json.ts'
import { CONFIG_SCHEMA_TREE, type Config, RELOADABLE } from './schema.ts'
import { childOf, pathText, type SettingPath, type SourceNode } from './source-tree.ts'
import type { SchemaNode } from './validate.ts'

/** A setting in force. */
export interface ExplainedSetting {
  /** `server.port`, `models["gpt-5"].pricing`. */
  readonly path: string
  /** Secrets are `(secret)`. */
  readonly value: unknown
  /** Position in the file, variable or flag; `default`; `database`. */
  readonly origin: string
}

const DEFAULT_ORIGIN = 'default'
/** Of models and providers that operators stored. */
const STORED_ORIGIN = 'database'
const SECRET = '(secret)'

/** Origins of the settings that file, environment and flags set, by their path with numbers of entries. */
export function originsOf(tree: SourceNode): Readonly<Record<string, string>> {
  const origins: Record<string, string> = Object.create(null)
  collect(tree, [], origins)
  return origins
}

function collect(node: SourceNode, path: SettingPath, origins: Record<string, string>): void {
  const { content } = node
  if (content.type === 'mapping') {
    for (const [name, entry] of content.entries) collect(entry.node, [...path, name], origins)
    if (content.entries.size > 0) return
  }
  if (content.type === 'list' && content.items.some(({ content: { type } }) => type === 'mapping')) {
    for (const index of content.items.keys()) collect(childOf(node, index) ?? node, [...path, index], origins)
    return
  }
  if (content.type !== 'scalar' || (content.value !== '' && content.value !== null))
    origins[pathText(path)] = node.origin
}

/** In the order of the documentation. */
export function explainConfig(config: Config): readonly ExplainedSetting[] {
  const settings: ExplainedSetting[] = []
  const isStored = storedEntries(config)
  walk({ schema: CONFIG_SCHEMA_TREE, value: config, shown: [], written: [] }, (setting) => {
    const { shown, written, value } = setting
    const origin = config.origins[pathText(written)] ?? (isStored(written) ? STORED_ORIGIN : DEFAULT_ORIGIN)
    settings.push({ path: pathText(shown), value, origin })
  })
  return settings
}

/** Whether a path is of a model or provider that neither the file nor the environment has. */
function storedEntries({ origins }: Config): (path: SettingPath) => boolean {
  const entryOf = ([section = '', name = '']: SettingPath) => pathText([section, name])
  const known = new Map<string, boolean>()
  return (path) => {
    if (path.length < 2 || !(path[0] === 'models' || path[0] === 'providers')) return false
    const entry = entryOf(path)
    const isKnown = known.get(entry) ?? Object.keys(origins).some((each) => isBelow(each, entry))
    known.set(entry, isKnown)
    return !isKnown
  }
}

function isBelow(path: string, above: string): boolean {
  return path === above || (path.startsWith(above) && /^[.[]/.test(path.slice(above.length)))
}

interface Visited {
  readonly schema: SchemaNode
  readonly value: unknown
  /** Entries of lists by their ID. */
  readonly shown: SettingPath
  /** Entries of lists by their number. */
  readonly written: SettingPath
}

function walk(visited: Visited, visit: (leaf: Visited) => void): void {
  const { schema: written, value } = visited
  if (value === undefined) return
  const schema = written.anyOf?.find(({ type }) => type !== 'null') ?? written
  const { items } = schema
  if (schema.writeOnly === true) visit({ ...visited, schema, value: SECRET })
  else if (schema.type === 'object' && value !== null) walkMapping({ ...visited, schema }, visit)
  else if (items?.type === 'object' && Array.isArray(value)) walkList({ ...visited, schema: items }, value, visit)
  else visit(visited)
}

function walkList(visited: Visited, items: readonly Json[], visit: (leaf: Visited) => void): void {
  items.forEach((item: Json, index) => {
    const name = typeof item['id'] === 'string' ? item['id'] : index
    const place = { shown: [...visited.shown, name], written: [...visited.written, index] }
    walk({ schema: visited.schema, value: item, ...place }, visit)
  })
}

function walkMapping({ schema, value, shown, written }: Visited, visit: (leaf: Visited) => void): void {
  const [free] = Object.values(schema.patternProperties ?? {})
  const mapping = value as Json
  const properties = free === undefined ? Object.entries(schema.properties ?? {}) : []
  const named = free === undefined ? [] : Object.keys(mapping).map((name) => [name, free] as const)
  for (const [name, each] of [...properties, ...named]) {
    walk({ schema: each, value: mapping[name], shown: [...shown, name], written: [...written, name] }, visit)
  }
}

/** Returns the settings at a path or below it; all without a path. */
export function settingsBelow(settings: readonly ExplainedSetting[], path: string | undefined) {
  if (path === undefined) return settings
  return settings.filter((setting) => isBelow(setting.path, path))
}

export interface SettingChange {
  readonly path: string
  /** Undefined: not set. */
  readonly before: unknown
  readonly after: unknown
  /** False: it needs a restart. */
  readonly reloadable: boolean
}

/** Returns what differs in the second configuration, by path. */
export function configChanges(before: Config, after: Config): readonly SettingChange[] {
  const [old, next] = [before, after].map(
    (config) => new Map(explainConfig(config).map((each) => [each.path, each.value])),
  )
  const hidden = [before, after].map(secretsOf)
  const paths = new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])
  return [...paths].flatMap((path) => {
    const pair = [old?.get(path), next?.get(path)]
    const isSame = JSON.stringify(pair[0]) === JSON.stringify(pair[1]) && hidden[0]?.get(path) === hidden[1]?.get(path)
    const section = /^\w+/.exec(path)?.[0] ?? ''
    return isSame
      ? []
      : [{ path, before: pair[0], after: pair[1], reloadable: RELOADABLE.some((name) => name === section) }]
  })
}

/** Secrets by path, only to compare them. */
function secretsOf(config: Config): ReadonlyMap<string, string> {
  const secrets = new Map<string, string>()
  walk({ schema: CONFIG_SCHEMA_TREE, value: config, shown: [], written: [] }, ({ schema, shown, written }) => {
    if (schema.writeOnly !== true) return
    let value: unknown = config
    for (const name of written) value = (value as Record<string | number, unknown>)[name]
    secrets.set(pathText(shown), JSON.stringify(value))
  })
  return secrets
}
