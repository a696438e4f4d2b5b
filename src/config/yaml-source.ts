import type { Alias, Document, LineCounter, Node, Pair, YAMLError, YAMLMap } from 'yaml'
import {
  emptyTree,
  problemText,
  type SettingPath,
  type SourceContent,
  type SourceEntry,
  type SourceNode,
  type SourceScalar,
} from './source-tree.ts'

/** Aliases multiply the nodes of a short file; legitimate configurations are far below. */
const MOST_NODES = 50_000
const DEEPEST_NESTING = 30
const TOO_MUCH = 'too many aliases or too deep a nesting'
/** One mistake makes the parser report many. */
const MOST_SYNTAX_PROBLEMS = 3

interface YamlText {
  readonly text: string
  /** Shown in messages. */
  readonly fileName: string
  readonly variable: (name: string) => string | undefined
}

export interface YamlSource {
  readonly tree: SourceNode
  readonly problems: readonly string[]
}

type Yaml = typeof import('yaml')

interface Reader {
  readonly yaml: Yaml
  readonly source: YamlText
  readonly lines: LineCounter
  /** The node of each anchor, as far as the document has been read. */
  readonly anchors: Map<string, Node>
  readonly problems: string[]
  nodes: number
}

/** Reads YAML 1.2 into a source tree and resolves its references. Errors become problems, not exceptions. */
export async function readYaml(source: YamlText): Promise<YamlSource> {
  const yaml = await import('yaml')
  const reader: Reader = {
    yaml,
    source,
    lines: new yaml.LineCounter(),
    anchors: new Map(),
    problems: [],
    nodes: 0,
  }
  const root = emptyTree(`${source.fileName}:1:1`)
  const document = parsed(reader)
  if (document === undefined) return { tree: root, problems: [`${source.fileName}: found ${TOO_MUCH}`] }
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    const problems = faults.slice(0, MOST_SYNTAX_PROBLEMS).map((fault) => syntaxProblem(fault, reader))
    return { tree: root, problems }
  }
  const tree = readNode(document.contents, [], reader)
  const isEmpty = tree.content.type === 'scalar' && tree.content.value === null
  return { tree: isEmpty ? root : tree, problems: reader.problems }
}

/** Undefined where the text is nested so deeply that the library, which recurses, runs out of stack. */
function parsed({ yaml, source, lines }: Reader): Document.Parsed | undefined {
  try {
    return yaml.parseDocument(source.text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function readNode(node: Node | null, path: SettingPath, reader: Reader): SourceNode {
  const { yaml } = reader
  const origin = originAt(node?.range?.[0] ?? 0, reader)
  const withContent = (content: SourceContent): SourceNode => ({ origin, content })
  reader.nodes += 1
  if (reader.nodes > MOST_NODES || path.length > DEEPEST_NESTING) {
    if (reader.nodes <= MOST_NODES + 1) report(reader, { origin, path }, `found ${TOO_MUCH}`)
    reader.nodes = MOST_NODES + 1
    return withContent({ type: 'unreadable' })
  }
  if (yaml.isAlias(node)) return readAlias(node, path, reader)
  if ((yaml.isCollection(node) || yaml.isScalar(node)) && node.anchor !== undefined) {
    reader.anchors.set(node.anchor, node)
  }
  if (yaml.isMap(node)) return withContent(readMapping(node, path, reader))
  if (yaml.isSeq(node)) {
    const items = node.items.map((item, index) => readNode(item as Node | null, [...path, index], reader))
    return withContent({ type: 'list', items })
  }
  return withContent(readScalar(yaml.isScalar(node) ? node.value : null, { origin, path }, reader))
}

function readAlias(node: Alias, path: SettingPath, reader: Reader): SourceNode {
  const target = reader.anchors.get(node.source)
  if (target !== undefined) return readNode(target, path, reader)
  const origin = originAt(node.range?.[0] ?? 0, reader)
  report(reader, { origin, path }, `found the alias *${node.source}, but there is no anchor &${node.source} before it`)
  return { origin, content: { type: 'unreadable' } }
}

function readMapping(map: YAMLMap, path: SettingPath, reader: Reader): SourceContent {
  const entries = new Map<string, SourceEntry>()
  for (const pair of map.items as Pair<Node, Node | null>[]) {
    const key = reader.yaml.isScalar(pair.key) ? pair.key.value : undefined
    const keyOrigin = originAt(pair.key?.range?.[0] ?? 0, reader)
    if (typeof key !== 'string') {
      const found = key === undefined ? 'a name that is not a text' : `the name ${String(key)}`
      report(reader, { origin: keyOrigin, path }, `found ${found}, allowed: texts as names; put it in quotes`)
      continue
    }
    const first = entries.get(key)
    if (first !== undefined) {
      const text = `found a second time, allowed: once (first at ${first.keyOrigin})`
      report(reader, { origin: keyOrigin, path: [...path, key] }, text)
      continue
    }
    entries.set(key, { keyOrigin, node: readNode(pair.value, [...path, key], reader) })
  }
  return { type: 'mapping', entries }
}

interface Place {
  readonly origin: string
  readonly path: SettingPath
}

function readScalar(value: unknown, place: Place, reader: Reader): SourceContent {
  if (typeof value === 'string') return readText(value, place, reader)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) {
    return { type: 'scalar', value, loose: false }
  }
  report(reader, place, 'found a value of an unsupported kind')
  return { type: 'unreadable' }
}

function readText(written: string, place: Place, reader: Reader): SourceContent {
  const { text, filled, problems } = interpolate(written, reader.source.variable)
  for (const problem of problems) report(reader, place, problem)
  if (problems.length > 0) return { type: 'unreadable' }
  const scalar: SourceScalar = { type: 'scalar', value: text, loose: filled }
  return filled ? { ...scalar, template: written } : scalar
}

function report(reader: Reader, place: Place, text: string): void {
  reader.problems.push(problemText(place.origin, place.path, text))
}

function originAt(offset: number, { source, lines }: Reader): string {
  const { line, col } = lines.linePos(offset)
  return `${source.fileName}:${Math.max(1, line)}:${Math.max(1, col)}`
}

/** Omits the text that the library quotes, which may be a secret. */
function syntaxProblem(fault: YAMLError, reader: Reader): string {
  if (fault.code === 'MULTIPLE_DOCS') return `${originAt(fault.pos[0], reader)}: found a second document, allowed: one`
  const { line } = reader.lines.linePos(fault.pos[0])
  const written = reader.source.text.split('\n')[line - 1] ?? ''
  const hint = /\$\{/.test(written) ? '; references to the environment inside { } or [ ] must be in quotes' : ''
  const message = fault.message.replace(/: ".*$/s, '').replaceAll(/\s+/g, ' ')
  return `${originAt(fault.pos[0], reader)}: not valid YAML: ${message}${hint}`
}

/** `$${` first: it escapes a reference. */
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME_AND_DEFAULT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/**
 * Resolves `${NAME}` and `${NAME:-default}` in a text; `$${` is a literal `${`.
 * The default, which cannot contain `}`, applies when the variable is unset or empty.
 */
export function interpolate(text: string, variable: (name: string) => string | undefined) {
  const problems: string[] = []
  let filled = false
  const result = text.replace(REFERENCE, (match: string, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return '${'
    const [, name, standard] = (end === '}' ? NAME_AND_DEFAULT.exec(inside) : null) ?? []
    if (name === undefined) {
      problems.push(`found the reference ${JSON.stringify(match)}, allowed: \${NAME} or \${NAME:-default}`)
      return ''
    }
    filled = true
    const value = variable(name)
    if (standard !== undefined) return value === undefined || value === '' ? standard : value
    if (value === undefined) {
      problems.push(
        `found \${${name}}, but ${name} is not set in the environment; set it, or write \${${name}:-default}`,
      )
    }
    return value ?? ''
  })
  return { text: result, filled, problems }
}
