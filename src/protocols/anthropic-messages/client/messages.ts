/** Reads a conversation of content blocks as messages of a chat completion, and notes what these cannot express. */

import type { NativeRequest } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import { decodeContext, isOpaqueContext } from '../../opaque-context.ts'
import { arrayAt, isAbsent, objectAt, oneOf, refuse, refuseType, stringAt } from '../../openai-chat/client/checks.ts'
import type { ContextEntry } from '../context.ts'

const ROLES = ['user', 'assistant', 'system'] as const

/** The messages of a chat completion, which the caller must still validate. */
export function readConversation({ system, messages }: Json, findings: Findings): readonly object[] {
  const listed = arrayAt(messages, 'messages')
  if (listed.length === 0) refuse('invalid_value', 'messages', '`messages` must have at least one message.')
  const read = listed.flatMap((value, at) => {
    const path = `messages[${at}]`
    const message = objectAt(value, path)
    const role = oneOf(message['role'], `${path}.role`, ROLES)
    const blocks = blocksAt(message['content'], `${path}.content`, findings)
    if (role === 'assistant') return [readAssistant(blocks, `${path}.content`, findings)]
    if (role === 'system')
      return [{ role, content: blocks.map((block, at) => readText(block, `${path}.content[${at}]`, findings)) }]
    return readUser(blocks, `${path}.content`, findings)
  })
  return [...readSystem(system, findings), ...read]
}

function readSystem(system: unknown, findings: Findings): object[] {
  if (system === undefined) return []
  const parts = blocksAt(system, 'system', findings).map((block, at) => readText(block, `system[${at}]`, findings))
  return parts.length === 0 ? [] : [{ role: 'system', content: parts }]
}

/** A string is short for one text block. */
function blocksAt(content: unknown, path: string, findings: Findings): readonly Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) refuseType(content, path, 'a string or an array of content blocks')
  const blocks = content.map((block, at) => objectAt(block, `${path}[${at}]`))
  for (const block of blocks) noteCaching(findings, block)
  return blocks
}

function readText(block: Json, path: string, findings: Findings): object {
  oneOf(block['type'], `${path}.type`, ['text'])
  noteOthers(findings, block, TEXT_FIELDS)
  return { type: 'text', text: stringAt(block['text'], `${path}.text`), ...cacheOf(block) }
}

const TEXT_FIELDS: ReadonlySet<string> = new Set(['type', 'text', 'cache_control'])
const CALL_FIELDS: ReadonlySet<string> = new Set(['type', 'id', 'name', 'input'])
const RESULT_FIELDS: ReadonlySet<string> = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])
const PART_FIELDS: Readonly<Record<'image' | 'document' | 'search_result', ReadonlySet<string>>> = {
  image: new Set(['type', 'source', 'cache_control']),
  document: new Set(['type', 'source', 'title', 'context', 'citations', 'cache_control']),
  search_result: new Set(['type', 'source', 'title', 'content', 'cache_control']),
}

/** The mark that ends the cached part of the prompt. */
function cacheOf({ cache_control: control }: Json): object {
  return isRecord(control) ? { cache_control: control } : {}
}

/** Places results of tools before the user's other content, as other APIs require. */
function readUser(blocks: readonly Json[], path: string, findings: Findings): object[] {
  const results: object[] = []
  const parts: object[] = []
  for (const [at, block] of blocks.entries()) {
    const blockPath = `${path}[${at}]`
    if (block['type'] === 'tool_result') results.push(readResult(block, blockPath, findings))
    else parts.push(readPart(block, blockPath, findings))
  }
  if (parts.length === 0) return results.length > 0 ? results : [{ role: 'user', content: '' }]
  return [...results, { role: 'user', content: parts }]
}

const ERROR_PREFIX = 'Error: '

/** Prefixes an error result with `Error:` unless its text has it. A cache mark moves to the last part. */
function readResult(block: Json, path: string, findings: Findings): object {
  const { tool_use_id: id, content, is_error: failed } = block
  noteOthers(findings, block, RESULT_FIELDS)
  const blocks = isAbsent(content) ? [] : blocksAt(content, `${path}.content`, findings)
  if (blocks.length === 0) noteMark(findings, block)
  const parts = blocks.map((part, at) => readPart(part, `${path}.content[${at}]`, findings))
  const marked = withCacheMark(failed === true ? withErrorMark(parts) : parts, block)
  return {
    role: 'tool',
    tool_call_id: stringAt(id, `${path}.tool_use_id`),
    content: marked.length === 0 ? '' : marked.every(isPlainText) ? marked.map(({ text }) => text).join('\n') : marked,
  }
}

function withErrorMark(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts
  if (first?.type !== 'text') return [{ type: 'text', text: ERROR_PREFIX.trim() }, ...parts]
  const text = String(first['text'])
  return [{ ...first, text: /error/i.test(text.slice(0, 200)) ? text : ERROR_PREFIX + text }, ...rest]
}

/** A tool message of a chat completion has cache marks on its parts only. */
function withCacheMark(parts: readonly Part[], block: Json): readonly Part[] {
  const last = parts.at(-1)
  return last === undefined ? parts : [...parts.slice(0, -1), { ...last, ...cacheOf(block) }]
}

interface Part {
  readonly type: string
  readonly [field: string]: unknown
}

function isPlainText(part: Part): boolean {
  return part.type === 'text' && part['cache_control'] === undefined
}

function readPart(block: Json, path: string, findings: Findings): Part {
  const type = stringAt(block['type'], `${path}.type`)
  if (type === 'text') {
    noteOthers(findings, block, TEXT_FIELDS)
    return { type, text: stringAt(block['text'], `${path}.text`), ...cacheOf(block) }
  }
  if (type === 'search_result') {
    noteOthers(findings, block, PART_FIELDS[type])
    return { type: 'text', text: searchResultText(block, path, findings), ...cacheOf(block) }
  }
  if (type !== 'image' && type !== 'document') return readForeign(block, `${path}.type`, findings)
  const source = objectAt(block['source'], `${path}.source`)
  const sourceType = stringAt(source['type'], `${path}.source.type`)
  if (!SOURCES[type].includes(sourceType)) return readForeign(block, `${path}.source.type`, findings)
  noteOthers(findings, block, PART_FIELDS[type])
  if (type === 'image') {
    return { type: 'image_url', image_url: { url: imageUrl(source, `${path}.source`) }, ...cacheOf(block) }
  }
  return { ...readDocument(block, { source, path }, findings), ...cacheOf(block) }
}

/** Types of sources that can be translated. */
const SOURCES: Readonly<Record<'image' | 'document', readonly string[]>> = {
  image: ['base64', 'url'],
  document: ['base64', 'text', 'content'],
}

/** A block without a translation, represented by a file of unknown size or an empty text. */
function readForeign(block: Json, path: string, findings: Findings): Part {
  noteEssential(findings, path, block)
  const isFile = block['source'] !== undefined || block['file_id'] !== undefined
  return isFile ? { type: 'file', file: { file_id: 'file_of_the_provider' } } : { type: 'text', text: '' }
}

function imageUrl(source: Json, path: string): string {
  if (source['type'] === 'url') return stringAt(source['url'], `${path}.url`)
  const mediaType = oneOf(source['media_type'], `${path}.media_type`, [
    'image/jpeg',
    'image/png',
    'image/gif',
    'image/webp',
  ])
  return `data:${mediaType};base64,${stringAt(source['data'], `${path}.data`)}`
}

interface Located {
  readonly source: Json
  readonly path: string
}

function readDocument({ title, context, citations }: Json, { source, path }: Located, findings: Findings): Part {
  if (typeof context === 'string') noteDropped(findings, 'messages[].content[].context', context)
  const filename = typeof title === 'string' ? title : undefined
  const isCited = isRecord(citations) && citations['enabled'] === true
  const citable = (text?: string | readonly string[]) => isCited && { citable: { title: filename, source: text } }
  if (source['type'] === 'base64') {
    const mediaType = oneOf(source['media_type'], `${path}.source.media_type`, ['application/pdf'])
    const data = stringAt(source['data'], `${path}.source.data`)
    return {
      type: 'file',
      file: { filename: filename ?? 'document.pdf', file_data: `data:${mediaType};base64,${data}` },
      ...citable(),
    }
  }
  if (source['type'] === 'text') {
    const data = stringAt(source['data'], `${path}.source.data`)
    return { type: 'text', text: titled(filename, data), ...citable(data) }
  }
  const blocks = blocksAt(source['content'], `${path}.source.content`, findings)
  const texts = blocks.map((block, at) => stringAt(block['text'], `${path}.source.content[${at}].text`))
  return { type: 'text', text: titled(filename, texts.join('\n')), ...citable(texts) }
}

function searchResultText({ title, source, content }: Json, path: string, findings: Findings): string {
  const texts = blocksAt(content, `${path}.content`, findings).map((block, at) =>
    stringAt(block['text'], `${path}.content[${at}].text`),
  )
  return titled(`${stringAt(title, `${path}.title`)} (${stringAt(source, `${path}.source`)})`, texts.join('\n'))
}

function titled(title: string | undefined, text: string): string {
  return title === undefined ? text : `${title}\n\n${text}`
}

/*
 * Reads the blocks of an earlier answer: text, calls, and its signed thinking as `provider_context`, which the
 * provider that signed it gets back. Thinking without a signature is what other providers call reasoning.
 */

interface Draft {
  readonly parts: TextPart[]
  readonly calls: object[]
  /** The entries in the order of the blocks. */
  readonly entries: ContextEntry[]
  /** The contexts of providers other than Anthropic, by protocol. */
  readonly contexts: Record<string, unknown>
  readonly reasoning: string[]
  readonly findings: Findings
}

interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly cache_control?: unknown
}

/** @returns A message of a chat completion, which its own checks have not seen. */
function readAssistant(blocks: readonly Json[], path: string, findings: Findings): object {
  const draft: Draft = { parts: [], calls: [], entries: [], contexts: {}, reasoning: [], findings }
  for (const [at, block] of blocks.entries()) readBlock(draft, block, `${path}[${at}]`)
  const { parts, calls, entries, contexts } = draft
  const content = readAnswerText(draft)
  if (entries.some(({ type }) => type === 'thinking' || type === 'redacted_thinking')) {
    Object.assign(contexts, contextWith(entries))
  }
  const reasoning = draft.reasoning.join('')
  return {
    role: 'assistant',
    content: parts.length === 0 && calls.length > 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(Object.keys(contexts).length > 0 && { provider_context: contexts }),
  }
}

/** One text, to which positions in a provider's context refer; parts only where one of them ends a cached prompt. */
function readAnswerText({ parts, contexts, findings }: Draft): string | readonly TextPart[] {
  const text = parts.map((part) => part.text).join('')
  const marked = parts.find((part) => part.cache_control !== undefined)
  if (marked === undefined) return text
  if (Object.keys(contexts).length === 0) return parts.filter((part) => part.text !== '')
  noteMark(findings, { ...marked })
  return text
}

function readBlock(draft: Draft, block: Json, path: string): void {
  const { parts, calls, entries, findings } = draft
  const type = stringAt(block['type'], `${path}.type`)
  switch (type) {
    case 'thinking':
      readThinking(draft, block, path)
      break
    case 'redacted_thinking':
      readRedacted(draft, stringAt(block['data'], `${path}.data`))
      break
    case 'tool_use': {
      const id = stringAt(block['id'], `${path}.id`)
      const name = stringAt(block['name'], `${path}.name`)
      const input = JSON.stringify(objectAt(block['input'], `${path}.input`))
      noteOthers(findings, block, CALL_FIELDS)
      calls.push({ id, type: 'function', function: { name, arguments: input } })
      entries.push({ type: 'tool_use', id })
      break
    }
    case 'text': {
      const text = stringAt(block['text'], `${path}.text`)
      noteOthers(findings, block, TEXT_FIELDS)
      parts.push({ type, text, ...(text !== '' && cacheOf(block)) })
      if (text !== '') entries.push({ type: 'text', length: text.length })
      break
    }
    default: // uses and results of tools that ran at the provider, and types that are added later
      noteDropped(findings, `messages[].content[].${type}`, block)
  }
}

function readThinking({ entries, reasoning }: Draft, block: Json, path: string): void {
  const thinking = stringAt(block['thinking'], `${path}.thinking`)
  const signature = typeof block['signature'] === 'string' ? block['signature'] : ''
  reasoning.push(thinking)
  if (signature !== '') entries.push({ type: 'thinking', thinking, signature })
}

/** Anthropic's own, or the context of another provider in its form. */
function readRedacted({ entries, contexts }: Draft, data: string): void {
  if (isOpaqueContext(data)) Object.assign(contexts, decodeContext(data))
  else entries.push({ type: 'redacted_thinking', data })
}

function contextWith(entries: readonly ContextEntry[]): object {
  return {
    anthropic: {
      blocks: entries.map((entry, index) =>
        entry.type === 'text' ? { type: 'text', length: String(entry.length), index } : { ...entry, index },
      ),
    },
  }
}

/* Collects the parts of a Messages request that a chat completion cannot express. */

export interface Findings {
  essential: string | undefined
  readonly dropped: Set<string>
  readonly untranslated: unknown[]
  builtInTools: number
  caching: '5m' | '1h' | undefined
}

export function newFindings(): Findings {
  return { essential: undefined, dropped: new Set(), untranslated: [], builtInTools: 0, caching: undefined }
}

/** Records the cache lifetime that a block, a tool or the request selects. */
export function noteCaching(findings: Findings, { cache_control: control }: Json): void {
  if (!isRecord(control)) return
  findings.caching = findings.caching === '1h' || control['ttl'] === '1h' ? '1h' : '5m'
}

/** Blocks in a block that is not translated. */
function noteCachingWithin(findings: Findings, value: unknown): void {
  if (Array.isArray(value)) for (const part of value) noteCachingWithin(findings, part)
  if (!isRecord(value)) return
  noteCaching(findings, value)
  noteCachingWithin(findings, value['content'])
  noteCachingWithin(findings, value['source'])
}

/** Records a part that other protocols must reject. */
export function noteEssential(findings: Findings, path: string, value: unknown): void {
  findings.essential ??= path
  findings.untranslated.push(value)
  noteCachingWithin(findings, value)
}

/** Records a part that other protocols omit. @param name In `x-turnpike-warnings`. */
export function noteDropped(findings: Findings, name: string, value: unknown): void {
  findings.dropped.add(name)
  findings.untranslated.push(value)
  noteCachingWithin(findings, value)
}

/** Records the fields of a block that the translation does not read. */
function noteOthers(findings: Findings, block: Json, known: ReadonlySet<string>): void {
  for (const name in block) {
    if (!known.has(name) && !isWithoutEffect(block[name]))
      noteDropped(findings, `messages[].content[].${name}`, block[name])
  }
}

/** Absent, an empty list, or `{"enabled": false}` of `citations`. */
function isWithoutEffect(value: unknown): boolean {
  if (isAbsent(value)) return true
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && value['enabled'] === false
}

/** Records a cache mark that has no place in the translation. */
function noteMark(findings: Findings, { cache_control: control }: Json): void {
  if (isRecord(control)) findings.dropped.add('messages[].content[].cache_control')
}

interface Source {
  readonly body: Json
  /** The fields of `body` without a translation. */
  readonly extra: Json
  readonly headers: Readonly<Record<string, string>>
}

export function nativeRequest({ body, extra, headers }: Source, findings: Findings): NativeRequest {
  const { essential, dropped, untranslated, builtInTools, caching } = findings
  return {
    protocol: 'anthropic',
    body,
    extra,
    headers,
    essential,
    dropped: [...Object.keys(extra), ...dropped],
    untranslated: Object.keys(extra).length === 0 ? untranslated : [extra, ...untranslated],
    builtInTools,
    caching,
  }
}
