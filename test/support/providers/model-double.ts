/**
 * A model behind each wire format that does what it is asked: it calls the tools it is given, with arguments of their
 * schema, answers in the JSON that is wanted of it, and else with text. Reads native requests, written apart from the
 * codecs; answers in the same format through `native-answers.ts`.
 */
import type { ProviderCall, Script } from './fake-provider.ts'
import { answerNative, NATIVES, type Native, type Said } from './native-answers.ts'

// biome-ignore lint/suspicious/noExplicitAny: a request is any JSON
type Anything = any

/** What a request comes to, whatever its format. */
interface Wish {
  /** Of the last turn. */
  readonly text: string
  /** The last turn is what tools said. */
  readonly hasResults: boolean
  readonly tools: readonly { readonly name: string; readonly schema: Anything }[]
  /** The one tool to be called; '' for none in particular, undefined where none may be. */
  readonly wanted: string | undefined
  /** The answer's schema; null: any JSON object. */
  readonly format: Anything | undefined
}

const READERS: Readonly<Record<string, (body: Anything) => Wish>> = { openai, anthropic, google }
const BODIES: Readonly<Record<string, Native | undefined>> = {
  openai: NATIVES['deepseek'],
  anthropic: NATIVES['anthropic'],
  google: NATIVES['google'],
}

/** @param format `openai`, `anthropic` or `google`. */
export function modelDouble(format: string): Script {
  const native = BODIES[format]
  const read = READERS[format]
  if (native === undefined || read === undefined) throw new Error(`No double speaks '${format}'.`)
  return (call: ProviderCall, reply) => answerNative(native, sayTo(read(JSON.parse(call.body))))(call, reply)
}

function sayTo({ text, hasResults, tools, wanted, format }: Wish): Said {
  const tool =
    wanted === undefined || hasResults ? undefined : tools.find(({ name }) => wanted === '' || name === wanted)
  if (tool !== undefined) {
    return { calls: [{ id: 'call_1', name: tool.name, input: exampleOf(tool.schema, { root: tool.schema, text }) }] }
  }
  if (format === undefined) return { text: ['This is ', 'an answer ', 'in pieces.'] }
  const value = format === null ? { setup: 'Why?', punchline: 'Because.' } : exampleOf(format, { root: format, text })
  return { text: [JSON.stringify(value)] }
}

interface Given {
  /** Where `$ref` points into. */
  readonly root: Anything
  readonly text: string
}

/** A value of a schema: numbers and quoted words are taken from the prompt. */
function exampleOf(schema: Anything, given: Given): Anything {
  const { $ref, anyOf, enum: allowed, const: only, type, properties = {}, items } = schema ?? {}
  if ($ref !== undefined)
    return exampleOf(
      $ref
        .slice(2)
        .split('/')
        .reduce((at: Anything, key: string) => at[key], given.root),
      given,
    )
  if (anyOf !== undefined) return exampleOf(anyOf[0], given)
  if (only !== undefined) return only
  if (allowed !== undefined) return allowed[0]
  if (type === 'integer' || type === 'number') return Number(/\d+/.exec(given.text)?.[0] ?? 3)
  if (type === 'boolean') return true
  if (type === 'array') return [exampleOf(items, given)]
  if (type === 'string') return /'([^']+)'/.exec(given.text)?.[1] ?? 'San Francisco'
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, exampleOf(each, given)]))
}

function textOf(content: Anything): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text = '' }: Anything) => text).join(' ')
}

function openai({ messages, tools = [], tool_choice: choice, response_format: format }: Anything): Wish {
  const last = messages.at(-1)
  return {
    text: textOf(last.content),
    hasResults: last.role === 'tool',
    tools: tools.map(({ function: { name, parameters } }: Anything) => ({ name, schema: parameters })),
    wanted: choice === 'none' ? undefined : (choice?.function?.name ?? ''),
    format: format?.type === 'json_object' ? null : format?.json_schema?.schema,
  }
}

function anthropic({ system, messages, tools = [], tool_choice: choice, output_config: output }: Anything): Wish {
  const { content } = messages.at(-1)
  const wantsJson = textOf(system).includes('JSON object')
  return {
    text: textOf(content),
    hasResults: Array.isArray(content) && content.some(({ type }: Anything) => type === 'tool_result'),
    tools: tools.map(({ name, input_schema: schema }: Anything) => ({ name, schema })),
    wanted: choice?.type === 'none' ? undefined : (choice?.name ?? ''),
    format: output?.format?.schema ?? (wantsJson ? null : undefined),
  }
}

function google({ contents, tools = [], toolConfig, generationConfig: generation = {} }: Anything): Wish {
  const { parts } = contents.at(-1)
  const { mode, allowedFunctionNames: names = [''] } = toolConfig?.functionCallingConfig ?? {}
  const declared = tools.flatMap(({ functionDeclarations }: Anything) => functionDeclarations)
  const isJson = generation.responseMimeType === 'application/json'
  return {
    text: textOf(parts),
    hasResults: parts.some(({ functionResponse }: Anything) => functionResponse !== undefined),
    tools: declared.map(({ name, parametersJsonSchema: schema }: Anything) => ({ name, schema })),
    wanted: mode === 'NONE' ? undefined : names[0],
    format: generation.responseJsonSchema ?? (isJson ? null : undefined),
  }
}
