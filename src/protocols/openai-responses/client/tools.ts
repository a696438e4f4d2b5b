/**
 * Tools of a Responses request as tools of a chat completion: functions, custom tools, namespaces of both, and the shell
 * that runs at the client. A call of the answer takes the form of its tool again.
 */
import type { Json } from '../../../lib/json.ts'
import { createUniqueNames } from '../../conversation.ts'
import { arrayAt, isAbsent, objectAt, oneOf, refuse, refuseType, stringAt } from '../../openai-chat/client/checks.ts'

/** The form of a tool's calls. */
export interface ToolForm {
  readonly kind: 'function' | 'custom' | 'local_shell'
  readonly name: string
  readonly namespace?: string
}

/** The tools of a request. */
export interface ToolBook {
  /** The tools for the parser of chat completions, which validates them. */
  readonly tools: readonly object[]
  /** The forms by the name that the model sees. Absent for a function of that name. */
  readonly forms: ReadonlyMap<string, ToolForm>
  /** The names that the model sees, by `keyOf`. */
  readonly wireNames: ReadonlyMap<string, string>
}

/** An entry of a list of tools, with its path in the request. */
export interface ListedTool {
  readonly tool: unknown
  readonly path: string
}

const SHELL = 'local_shell'
const MAX_NAME_LENGTH = 64

const SHELL_FUNCTION = {
  name: SHELL,
  description: 'Runs a command on the machine of the user and returns its output.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
      working_directory: { type: 'string', description: 'Where the command runs.' },
      timeout_ms: { type: 'number', description: 'Limit of the run time in milliseconds.' },
    },
    required: ['command'],
    additionalProperties: false,
  },
}

/** @throws GatewayError for the first fault. */
export function readTools(listed: readonly ListedTool[]): ToolBook {
  const names = createUniqueNames('_')
  const forms = new Map<string, ToolForm>()
  const known = new Map<string, string>()
  const add = (form: ToolForm): string => {
    const name = names.take(...wireNames(form))
    if (form.kind !== 'function' || name !== form.name) forms.set(name, form)
    known.set(keyOf(form), name)
    return name
  }
  const flat = listed.flatMap(({ tool, path }) => members(objectAt(tool, path), path))
  // A function keeps its name, whatever others become.
  const ordered = flat.toSorted((a, b) => Number(a.namespace !== undefined) - Number(b.namespace !== undefined))
  return { tools: ordered.map((member) => readTool(member, add)), forms, wireNames: known }
}

function keyOf({ name, namespace }: Pick<ToolForm, 'name' | 'namespace'>): string {
  return JSON.stringify([namespace, name])
}

interface Member {
  readonly tool: Json
  readonly path: string
  readonly namespace: string | undefined
}

function members(tool: Json, path: string): readonly Member[] {
  if (tool['type'] !== 'namespace') return [{ tool, path, namespace: undefined }]
  const namespace = stringAt(tool['name'], `${path}.name`)
  return arrayAt(tool['tools'], `${path}.tools`).map((member, at) => {
    const memberPath = `${path}.tools[${at}]`
    const described = objectAt(member, memberPath)
    oneOf(described['type'], `${memberPath}.type`, ['function', 'custom'])
    return { tool: described, path: memberPath, namespace }
  })
}

/** The name of a tool for the model: a tool of a namespace begins with it. @returns the name, and its stem if it is taken. */
function wireNames({ name, namespace }: Pick<ToolForm, 'name' | 'namespace'>): [name: string, stem: string] {
  if (namespace === undefined) return [name, name.slice(0, MAX_NAME_LENGTH - 4)]
  const joined = namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`
  const clean = joined.replace(/[^\w-]/g, '_')
  return [clean.slice(0, MAX_NAME_LENGTH), clean.slice(0, MAX_NAME_LENGTH - 4)]
}

/** Reads a tool. A tool that runs at the provider keeps its form. */
function readTool({ tool, path, namespace }: Member, add: (form: ToolForm) => string): object {
  const { type, name, description, parameters, strict, format } = tool
  const within = namespace === undefined ? {} : { namespace }
  switch (type) {
    case 'function': {
      const own = stringAt(name, `${path}.name`)
      const described = { name: add({ kind: 'function', name: own, ...within }), description, parameters, strict }
      return { type, function: described }
    }
    case 'custom': {
      const own = stringAt(name, `${path}.name`)
      const described = { name: add({ kind: 'custom', name: own, ...within }), description }
      return { type, custom: { ...described, format: readFormat(format, `${path}.format`) } }
    }
    case 'local_shell':
      return { type: 'function', function: { ...SHELL_FUNCTION, name: add({ kind: 'local_shell', name: SHELL }) } }
    default:
      stringAt(type, `${path}.type`)
      return tool
  }
}

/** Free text, or text of a grammar, whose fields chat completions nest. */
function readFormat(value: unknown, path: string): object | undefined {
  if (isAbsent(value)) return undefined
  const format = objectAt(value, path)
  if (oneOf(format['type'], `${path}.type`, ['text', 'grammar']) === 'text') return { type: 'text' }
  const syntax = oneOf(format['syntax'], `${path}.syntax`, ['lark', 'regex'])
  return { type: 'grammar', grammar: { syntax, definition: stringAt(format['definition'], `${path}.definition`) } }
}

/** The name under which the model knows a tool that it called, which need not be offered any more. */
export function wireNameOf({ wireNames: known }: ToolBook, tool: Pick<ToolForm, 'name' | 'namespace'>): string {
  return known.get(keyOf(tool)) ?? wireNames(tool)[0]
}

const CHOICES = ['none', 'auto', 'required'] as const

/** Converts to `tool_choice` of a chat completion. @throws GatewayError, also for a tool that runs at the provider. */
export function readChoice(value: unknown, book: ToolBook): unknown {
  if (typeof value === 'string') return oneOf(value, 'tool_choice', CHOICES)
  if (typeof value !== 'object') refuseType(value, 'tool_choice', '"none", "auto", "required" or an object')
  const choice = objectAt(value, 'tool_choice')
  if (choice['type'] !== 'allowed_tools') return namedTool(choice, 'tool_choice', book)
  const tools = arrayAt(choice['tools'], 'tool_choice.tools').map((entry, at) => {
    const path = `tool_choice.tools[${at}]`
    return namedTool(objectAt(entry, path), path, book)
  })
  const mode = oneOf(choice['mode'], 'tool_choice.mode', ['auto', 'required'])
  return { type: 'allowed_tools', allowed_tools: { mode, tools } }
}

function namedTool({ type, name, namespace }: Json, path: string, book: ToolBook): object {
  if (type !== 'function' && type !== 'custom' && type !== SHELL) {
    const shown = JSON.stringify(stringAt(type, `${path}.type`).slice(0, 60))
    refuse(
      'unsupported_parameter',
      `${path}.type`,
      `\`${path}\` must name a tool that runs at the client, not ${shown}.`,
    )
  }
  const within = isAbsent(namespace) ? {} : { namespace: stringAt(namespace, `${path}.namespace`) }
  const own = type === SHELL ? SHELL : stringAt(name, `${path}.name`)
  return { type: 'function', function: { name: wireNameOf(book, { name: own, ...within }) } }
}
