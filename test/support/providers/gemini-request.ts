/**
 * From a recorded generateContent request back to the chat-completions request that asks for the same, for tests; and
 * both spellings of a native request in one, so that they can be compared. Written apart from the codec.
 */
// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

/** What a chat-completions request cannot ask for. */
const NO_EQUAL: readonly (readonly [string, (native: Anything) => boolean])[] = [
  ['cached content', (native) => native.cachedContent !== undefined],
  ['a tool of the provider itself', (native) => (native.tools ?? []).some((tool: Anything) => !declarationsOf(tool))],
  [
    'a role that does not exist',
    (native) => native.contents.some(({ role }: Anything) => !/^(user|model|function)$/.test(role)),
  ],
  [
    'thoughts without an effort',
    (native) => {
      const { includeThoughts, thinkingLevel, thinkingBudget } = native.generationConfig?.thinkingConfig ?? {}
      return includeThoughts === true && thinkingLevel === undefined && thinkingBudget === undefined
    },
  ],
]

/** @returns the request, or why there is none. */
export function toChatRequest(native: Anything): { readonly request: Anything } | { readonly reason: string } {
  const reason = NO_EQUAL.find(([, applies]) => applies(native))?.[0]
  if (reason !== undefined) return { reason }
  const config = native.generationConfig ?? {}
  const declarations = (native.tools ?? []).flatMap(declarationsOf)
  const system = (native.systemInstruction?.parts ?? []).map(({ text }: Anything) => ({
    role: 'system',
    content: text,
  }))
  return {
    request: {
      model: 'm',
      messages: [...system, ...messagesOf(native.contents)],
      ...given('max_tokens', config.maxOutputTokens),
      ...given('temperature', config.temperature),
      ...given('stop', config.stopSequences),
      ...given('n', config.candidateCount),
      ...given('logprobs', config.responseLogprobs),
      ...given('top_logprobs', config.logprobs),
      ...given('reasoning_effort', effortOf(config.thinkingConfig)),
      ...given('response_format', formatOf(config)),
      ...given('tools', declarations.length > 0 ? declarations.map(toolOf) : undefined),
      ...given('tool_choice', choiceOf(native.toolConfig)),
    },
  }
}

function declarationsOf(tool: Anything): Anything {
  return tool.functionDeclarations
}

function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [name]: value }
}

function toolOf({ name, description, parameters, parameters_json_schema: schema }: Anything): Anything {
  const converted = schema ?? (parameters === undefined ? undefined : lowerCaseTypes(parameters))
  return {
    type: 'function',
    function: { name, ...given('description', description), ...given('parameters', converted) },
  }
}

function choiceOf(config: Anything): unknown {
  const mode = config?.functionCallingConfig?.mode?.toUpperCase()
  return mode === undefined ? undefined : { NONE: 'none', ANY: 'required', AUTO: 'auto' }[mode as string]
}

function effortOf(config: Anything): unknown {
  return config?.thinkingBudget === 0 ? 'none' : config?.thinkingLevel
}

function formatOf({ responseMimeType: type, responseSchema: schema, responseJsonSchema: json }: Anything): unknown {
  if (type !== 'application/json') return undefined
  const converted = json ?? (schema === undefined ? undefined : lowerCaseTypes(schema))
  return converted === undefined
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: { name: 's', schema: converted } }
}

/** Calls get ids where they have none; results are told apart by their names, one after the other. */
function messagesOf(contents: Anything): Anything[] {
  const messages: Anything[] = []
  const waiting: { id: string; name: string }[] = []
  for (const { role, parts } of contents) {
    if (role === 'model') messages.push(assistantOf(parts, waiting, messages.length))
    else if (parts.some((part: Anything) => part.functionResponse)) messages.push(...resultsOf(parts, waiting))
    else messages.push({ role: 'user', content: parts.map(partOf) })
  }
  return messages
}

function assistantOf(parts: Anything, waiting: { id: string; name: string }[], turn: number): Anything {
  const message: Anything = { role: 'assistant', content: null }
  const signatures: Anything[] = []
  let text = ''
  let reasoning = ''
  const calls: Anything[] = []
  for (const { text: piece, thought, functionCall: call, thoughtSignature: signature } of parts) {
    const start = thought ? reasoning.length : text.length
    if (typeof piece === 'string' && thought) reasoning += piece
    else if (typeof piece === 'string') text += piece
    const id = call?.id ?? `id_${turn}_${calls.length}`
    if (call) calls.push({ id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } })
    if (call) waiting.push({ id, name: call.name })
    if (signature === undefined) continue
    const of = call ? { tool_call: id } : { [thought ? 'reasoning' : 'text']: `${start}:${start + piece.length}` }
    signatures.push({ index: signatures.length, ...of, signature })
  }
  if (text !== '') message.content = text
  if (reasoning !== '') message.reasoning_content = reasoning
  if (calls.length > 0) message.tool_calls = calls
  if (signatures.length > 0) message.provider_context = { gemini: { signatures } }
  return message
}

function resultsOf(parts: Anything, waiting: { id: string; name: string }[]): Anything[] {
  return parts.map(({ functionResponse: { id, name, response } }: Anything) => {
    const at = waiting.findIndex((call) => (id === undefined ? call.name === name : call.id === id))
    const [call] = waiting.splice(at, 1)
    return { role: 'tool', tool_call_id: call?.id, content: JSON.stringify(response) }
  })
}

function partOf(part: Anything): Anything {
  const data = part.inlineData ?? part.inline_data
  const file = part.fileData
  const type: string = data?.mimeType ?? data?.mime_type ?? ''
  if (file) return { type: 'image_url', image_url: { url: file.fileUri ?? file.file_uri } }
  if (!data) return { type: 'text', text: part.text }
  if (type.startsWith('audio/')) return { type: 'input_audio', input_audio: { data: data.data, format: 'mp3' } }
  const url = `data:${type};base64,${data.data}`
  return type.startsWith('image/')
    ? { type: 'image_url', image_url: { url } }
    : { type: 'file', file: { file_data: url } }
}

function lowerCaseTypes(schema: Anything): Anything {
  if (Array.isArray(schema)) return schema.map(lowerCaseTypes)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) =>
    key === 'type' && typeof value === 'string' ? [key, value.toLowerCase()] : [key, lowerCaseTypes(value)],
  )
  return Object.fromEntries(entries)
}

const SNAKE_CASE: Readonly<Record<string, string>> = {
  inline_data: 'inlineData',
  mime_type: 'mimeType',
  file_uri: 'fileUri',
  parameters_json_schema: 'parametersJsonSchema',
}
const UPLOADED = 'https://generativelanguage.googleapis.com/'

/**
 * One spelling for what the API takes for the same: field names, schemas in either place, roles of results, fields that
 * say nothing. Ids are kept only where `other`, the request to be compared with, has them.
 */
export function canonical(native: Anything, other: Anything): Anything {
  const keepsIds = JSON.stringify(other).includes('"id":')
  const { contents, systemInstruction, tools, toolConfig, generationConfig = {} } = native
  const { responseSchema, responseJsonSchema, candidateCount, responseModalities, ...config } = generationConfig
  const { mode } = toolConfig?.functionCallingConfig ?? {}
  return withoutUndefined({
    contents: contents.map(({ role, parts }: Anything) => ({
      role: role === 'model' ? 'model' : 'user',
      parts: parts.map((part: Anything) => canonicalPart(part, keepsIds)),
    })),
    system: systemInstruction?.parts,
    tools: tools?.[0]?.functionDeclarations.map(canonicalDeclaration),
    mode: mode?.toUpperCase(),
    config: {
      ...config,
      schema: responseJsonSchema ?? (responseSchema && lowerCaseTypes(responseSchema)),
      candidates: candidateCount > 1 ? candidateCount : undefined,
      modalities: responseModalities?.join() === 'TEXT' ? undefined : responseModalities,
    },
  })
}

function canonicalPart(part: Anything, keepsIds: boolean): Anything {
  const plain = camelCase(part)
  const { functionCall, functionResponse, inlineData, fileData, ...rest } = plain
  const id = keepsIds ? (functionCall ?? functionResponse)?.id : undefined
  if (functionCall) return { ...rest, functionCall: { name: functionCall.name, args: functionCall.args, id } }
  if (functionResponse) return { functionResponse: { ...functionResponse, id } }
  if (inlineData)
    return { inlineData: { ...inlineData, mimeType: inlineData.mimeType.replace('audio/mpeg', 'audio/mp3') } }
  if (fileData) return { fileData: fileData.fileUri.startsWith(UPLOADED) ? { fileUri: fileData.fileUri } : fileData }
  return rest
}

function canonicalDeclaration(declaration: Anything): Anything {
  const { name, description, parameters, parametersJsonSchema } = camelCase(declaration)
  const schema = parametersJsonSchema ?? (parameters && lowerCaseTypes(parameters))
  const isEmpty = Object.keys(schema?.properties ?? {}).length === 0
  return { name, description: description || undefined, schema: isEmpty ? undefined : schema }
}

function camelCase(object: Anything): Anything {
  const entries = Object.entries(object).map(([key, value]) => {
    const isContainer = key === 'inline_data' || key === 'fileData' || key === 'inlineData'
    return [SNAKE_CASE[key] ?? key, isContainer ? camelCase(value) : value]
  })
  return Object.fromEntries(entries)
}

function withoutUndefined(value: unknown): Anything {
  return JSON.parse(JSON.stringify(value))
}
