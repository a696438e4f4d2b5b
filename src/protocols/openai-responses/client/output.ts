/**
 * Builds the output items of an answer from its events, one item after another: reasoning, messages, calls. Emits an event of
 * the stream for each change; the final items are those of a whole answer.
 */
import type { ChatEvent, ExtensionEvent, FinishReason, NativeEvent, ToolCallEvent } from '../../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../../lib/json.ts'
import { createCallSequence } from '../../client-api.ts'
import { encodeContext } from '../../opaque-context.ts'
import { readLogprobs } from '../../openai-chat/client/answer.ts'
import { brokenAnswer } from '../../protocol.ts'
import { newItemId, storedItemId } from '../context.ts'
import type { ToolForm } from './tools.ts'

/** Sends an event. @param members Of its JSON object, as text: `"item_id":"…","delta":"…"`. */
export type Emit = (type: string, members: string) => void

export interface Output {
  push(event: ChatEvent): void
  /** Closes the last item; a second call does nothing. */
  end(): void
  /** Returns the finish reason. Undefined if the model did not end. */
  finish(): FinishReason | undefined
  /** Returns a list as JSON text. */
  render(): string
}

interface OutputInput {
  /** The ID of the response without its prefix. */
  readonly id: string
  readonly forms: ReadonlyMap<string, ToolForm>
  /** See `ResponseDetails`. */
  readonly isStored: boolean
  /** Undefined for a whole answer, which has no events. */
  readonly emit: Emit | undefined
}

interface TextPart {
  readonly type: 'output_text' | 'refusal'
  /** The members that locate the item in its events. */
  readonly place: string
  text: string
  readonly logprobs: unknown[]
  /** The annotations of a provider of this API. */
  readonly annotations: Json[]
}

interface OpenMessage {
  readonly kind: 'message'
  readonly id: string
  /** At most one part of each type. */
  readonly parts: TextPart[]
  /** The position of its text in the text of the answer, in UTF-16 units. */
  readonly from: number
  /** The phase, from a provider of this API. */
  readonly phase: string | undefined
}

interface OpenReasoning {
  readonly kind: 'reasoning'
  readonly id: string
  text: string
  context: Json | undefined
  /** Encrypted reasoning of a provider of this API, which receives it back unchanged. */
  encrypted: string | undefined
}

interface OpenCall {
  readonly kind: 'call'
  readonly id: string
  readonly form: ToolForm
  readonly callId: string
  arguments: string
  /** A call of a custom tool whose input is plain text, not JSON. */
  readonly isPlain: boolean
}

type OpenItem = OpenMessage | OpenReasoning | OpenCall

interface State extends OutputInput {
  /** Items that are complete, as JSON text. */
  readonly done: string[]
  open: OpenItem | undefined
  /** Members of events of the open reasoning or call, up to the delta. */
  deltaPrefix: string
  /** The index of the last tool call. */
  toolIndex: number
  /** Tool calls without argument text so far. */
  readonly emptyCalls: Set<number>
  /** Length of the text so far. */
  length: number
  /** Whether reasoning was signed. If so, a context of the whole answer would repeat it. */
  isSigned: boolean
  /** The next item, as a provider of this API announced it. */
  announced: Json | undefined
  /** IDs of items that a provider gave. */
  readonly takenIds: Set<string>
  context: Json | undefined
  annotations: readonly Json[]
  finish: FinishReason | undefined
  isEnded: boolean
}

export function createOutput(input: OutputInput): Output {
  const state: State = {
    ...input,
    done: [],
    open: undefined,
    deltaPrefix: '',
    toolIndex: -1,
    emptyCalls: new Set(),
    length: 0,
    isSigned: false,
    announced: undefined,
    takenIds: new Set(),
    context: undefined,
    annotations: [],
    finish: undefined,
    isEnded: false,
  }
  const calls = createCallSequence((event) => pushEvent(state, event))
  return {
    push(event) {
      if (event.type !== 'native' || event.protocol === 'openai-responses') calls.push(event)
    },
    end() {
      if (state.isEnded) return
      state.isEnded = true
      calls.end()
      closeItem(state, state.finish === 'length' || state.finish === 'content_filter' ? 'incomplete' : 'completed')
      addContext(state)
    },
    finish: () => state.finish,
    render: () => `[${state.done.join(',')}]`,
  }
}

function pushEvent(state: State, event: ChatEvent): void {
  switch (event.type) {
    case 'text':
      addText(state, 'output_text', event)
      break
    case 'refusal':
      addText(state, 'refusal', event)
      break
    case 'reasoning':
      addReasoning(state, event)
      break
    case 'tool-call':
      addCall(state, event)
      break
    case 'extension':
      keepExtension(state, event)
      break
    case 'native':
      readNative(state, event)
      break
    case 'finish':
      state.finish = event.reason
  }
}

/** The prefixes of IDs by type, for items that have a counterpart in the other events. */
const ITEM_PREFIXES: ReadonlyMap<unknown, string> = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
])

/** An item from a provider of this API: the ID of a known type is announced first, other types arrive whole. */
function readNative(state: State, { part, value }: NativeEvent): void {
  if (part === 'delta') {
    keepNativeAnnotations(state, value)
    return
  }
  if (part === 'stop') {
    endNativeReasoning(state, textOf(value['encrypted_content']))
    return
  }
  closeItem(state, 'completed')
  if (ITEM_PREFIXES.has(value['type'])) state.announced = value
  else addWhole(state, value)
}

function addWhole(state: State, item: Json): void {
  const rendered = JSON.stringify(state.isStored ? { ...item, id: wholeItemId(state, item) } : item)
  const members = `"output_index":${state.done.length},"item":${rendered}`
  state.emit?.('response.output_item.added', members)
  state.emit?.('response.output_item.done', members)
  state.done.push(rendered)
}

function wholeItemId({ id, done }: State, item: Json): string {
  return storedItemId(textOf(item['id']), id, done.length) ?? newItemId(item, id, done.length)
}

function endNativeReasoning(state: State, encrypted: string): void {
  const item = state.open?.kind === 'reasoning' ? state.open : openReasoning(state)
  item.encrypted = encrypted
  state.isSigned = true
  closeItem(state, 'completed')
}

function keepExtension(state: State, { field, value }: ExtensionEvent): void {
  if (field === 'provider_context' && isRecord(value)) state.context = value
  if (field === 'annotations' && Array.isArray(value))
    state.annotations = value.slice(0, MAX_ANNOTATIONS).filter(isRecord)
}

/** Adds annotations to the last text. */
function keepNativeAnnotations({ open }: State, { annotations }: Json): void {
  const part = open?.kind === 'message' ? open.parts.find(({ type }) => type === 'output_text') : undefined
  if (part === undefined || !Array.isArray(annotations)) return
  for (const annotation of annotations)
    if (isRecord(annotation) && part.annotations.length < MAX_ANNOTATIONS) part.annotations.push(annotation)
}

/** Limited, since each message searches all of them. */
const MAX_ANNOTATIONS = 256

const DELTAS = { output_text: 'response.output_text.delta', refusal: 'response.refusal.delta' } as const

function addText(
  state: State,
  type: TextPart['type'],
  { text, logprobs }: { readonly text: string; readonly logprobs?: unknown },
): void {
  if (text === '' && logprobs === undefined) return
  const part = openPart(state, type)
  part.text += text
  if (type === 'output_text') state.length += text.length
  const added = logprobs === undefined ? [] : entriesOf(logprobs)
  for (const entry of added) part.logprobs.push(entry)
  if (state.emit === undefined) return
  const tail = type === 'refusal' ? '' : `,"logprobs":${added.length === 0 ? '[]' : JSON.stringify(added)}`
  state.emit(DELTAS[type], `${part.place},"delta":${JSON.stringify(text)}${tail}`)
}

/** Returns the entries in the form of the contract, in which bytes are a list. */
function entriesOf(logprobs: unknown): readonly Json[] {
  const entries = (readLogprobs(logprobs)?.content ?? []).filter(isRecord)
  return entries.map(({ top_logprobs: top, ...entry }) => ({
    ...withBytes(entry),
    top_logprobs: Array.isArray(top) ? top.filter(isRecord).map(withBytes) : [],
  }))
}

function withBytes(entry: Json): Json {
  return Array.isArray(entry['bytes']) ? entry : { ...entry, bytes: [] }
}

function openPart(state: State, type: TextPart['type']): TextPart {
  const message = state.open?.kind === 'message' ? state.open : openMessage(state)
  const { id, parts } = message
  const known = parts.find((part) => part.type === type)
  if (known !== undefined) return known
  const place = `"item_id":"${id}","output_index":${state.done.length},"content_index":${parts.length}`
  const part: TextPart = { type, place, text: '', logprobs: [], annotations: [] }
  parts.push(part)
  state.emit?.('response.content_part.added', `${place},"part":${JSON.stringify(renderPart(part, []))}`)
  return part
}

function openMessage(state: State): OpenMessage {
  const phase = textOf(state.announced?.['phase']) || undefined
  const message: OpenMessage = { kind: 'message', id: itemId(state, 'msg'), parts: [], from: state.length, phase }
  openItem(state, message)
  return message
}

function closePart(emit: Emit, part: TextPart, annotations: readonly Json[]): void {
  const { type, place, logprobs } = part
  for (const [at, annotation] of annotations.entries()) {
    const members = `${place},"annotation_index":${at},"annotation":${JSON.stringify(annotation)}`
    emit('response.output_text.annotation.added', members)
  }
  const text = JSON.stringify(part.text)
  if (type === 'refusal') emit('response.refusal.done', `${place},"refusal":${text}`)
  else emit('response.output_text.done', `${place},"text":${text},"logprobs":${JSON.stringify(logprobs)}`)
  emit('response.content_part.done', `${place},"part":${JSON.stringify(renderPart(part, annotations))}`)
}

/** The sources that a text cites, with ranges of that text. */
function annotationsOf({ annotations }: State, { from }: OpenMessage, part: TextPart): readonly Json[] {
  if (part.type !== 'output_text') return []
  if (part.annotations.length > 0) return part.annotations
  return annotations.flatMap(({ url_citation: cited }) => {
    if (!isRecord(cited)) return []
    const start = Number(cited['start_index']) - from
    const end = Number(cited['end_index']) - from
    if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > part.text.length) return []
    return [
      {
        type: 'url_citation',
        start_index: start,
        end_index: end,
        url: textOf(cited['url']),
        title: textOf(cited['title']),
      },
    ]
  })
}

function renderPart({ type, text, logprobs }: TextPart, annotations: readonly Json[]): Json {
  return type === 'refusal' ? { type, refusal: text } : { type, text, annotations, logprobs }
}

/** Reasoning is a summary here: its only part. A signature ends it; redacted reasoning is an item without text. */
function addReasoning(state: State, event: Extract<ChatEvent, { type: 'reasoning' }>): void {
  const { text, signature, redacted } = event
  if (text !== '') {
    const item = state.open?.kind === 'reasoning' ? state.open : openReasoning(state)
    if (item.text === '' && state.emit !== undefined) {
      const place = `"item_id":"${item.id}","output_index":${state.done.length},"summary_index":0`
      state.deltaPrefix = `${place},"delta":`
      state.emit('response.reasoning_summary_part.added', `${place},"part":{"type":"summary_text","text":""}`)
    }
    item.text += text
    state.emit?.('response.reasoning_summary_text.delta', state.deltaPrefix + JSON.stringify(text))
  }
  if (signature === undefined && redacted === undefined) return
  const isContinued = redacted === undefined && state.open?.kind === 'reasoning'
  const item = isContinued && state.open?.kind === 'reasoning' ? state.open : openReasoning(state)
  const block =
    redacted === undefined
      ? { type: 'thinking', thinking: item.text, signature }
      : { type: 'redacted_thinking', data: redacted }
  item.context = { anthropic: { blocks: [block] } }
  state.isSigned = true
  closeItem(state, 'completed')
}

function openReasoning(state: State): OpenReasoning {
  const id = itemId(state, 'rs')
  const item: OpenReasoning = { kind: 'reasoning', id, text: '', context: undefined, encrypted: undefined }
  openItem(state, item)
  return item
}

/** Adds the context of the whole answer, which its provider needs in the next request, as an item at the end. */
function addContext(state: State): void {
  const { context, isSigned } = state
  if (context === undefined) return
  const { anthropic, 'openai-responses': own, ...others } = context
  const rest = {
    ...others,
    ...(anthropic !== undefined && !isSigned && { anthropic }),
    ...(hasPlainReasoning(own) && { 'openai-responses': own }),
  }
  if (Object.keys(rest).length === 0) return
  openReasoning(state).context = rest
  closeItem(state, 'completed')
}

/** Reasoning that its host does not encrypt; other items of this API go back as they are. */
function hasPlainReasoning(context: unknown): boolean {
  const items = isRecord(context) ? context['items'] : undefined
  return Array.isArray(items) && items.some((item) => isRecord(item) && Array.isArray(item['content']))
}

const PREFIXES = { function: 'fc', custom: 'ctc', local_shell: 'lsh' } as const

/** The sequence of calls ensures that a call is complete before the next one begins. */
const NO_ARGUMENTS = '{}'

function addCall(state: State, event: ToolCallEvent): void {
  const { toolIndex, id = '', name = '', arguments: text, custom = false } = event
  if (toolIndex > state.toolIndex) {
    state.toolIndex = toolIndex
    const form = state.forms.get(name) ?? announcedForm(state, { kind: custom ? 'custom' : 'function', name })
    const isPlain = custom && form.kind === 'custom'
    openItem(state, { kind: 'call', id: itemId(state, PREFIXES[form.kind]), form, callId: id, arguments: '', isPlain })
    state.deltaPrefix = `"item_id":"${state.open?.id}","output_index":${state.done.length},"delta":`
  }
  const { open: call } = state
  if (toolIndex < state.toolIndex || call?.kind !== 'call') {
    // Some providers send `{}` only at the end for a call without arguments; its item has it already.
    if (text === NO_ARGUMENTS && state.emptyCalls.has(toolIndex)) return
    throw brokenAnswer('The provider continued a tool call after it had begun another item.')
  }
  call.arguments += text
  if (call.arguments === '') state.emptyCalls.add(toolIndex)
  else state.emptyCalls.delete(toolIndex)
  if (text !== '') emitArguments(state, call, text)
}

/** The input of a custom tool within JSON, and the action of a shell, are sent when they are whole. */
function emitArguments({ emit, deltaPrefix }: State, { form, isPlain }: OpenCall, text: string): void {
  if (emit === undefined) return
  const members = deltaPrefix + JSON.stringify(text)
  if (form.kind === 'function') emit('response.function_call_arguments.delta', members)
  else if (isPlain) emit('response.custom_tool_call_input.delta', members)
}

/** A provider of this API calls a tool of a namespace by both names. */
function announcedForm({ announced }: State, form: ToolForm): ToolForm {
  const namespace = announced?.['namespace']
  return typeof namespace === 'string' ? { ...form, namespace } : form
}

const ITEM_ID = /^[\w-]{1,64}$/

/** Returns the provider's ID, without which it rejects its own reasoning, or an ID that contains it; else a new one. */
function itemId(state: State, prefix: string): string {
  const { announced, id, done, open, takenIds, isStored } = state
  state.announced = undefined
  const at = done.length + (open === undefined ? 0 : 1)
  const own = textOf(announced?.['id'])
  if (ITEM_PREFIXES.get(announced?.['type']) === prefix && ITEM_ID.test(own) && !takenIds.has(own)) {
    takenIds.add(own)
    const stored = isStored ? storedItemId(own, id, at) : own
    if (stored !== undefined) return stored
  }
  return `${prefix}_${id}_${at}`
}

function openItem(state: State, item: OpenItem): void {
  closeItem(state, 'completed')
  state.open = item
  if (state.emit === undefined) return
  const rendered = JSON.stringify(renderItem(state, item, 'in_progress'))
  state.emit('response.output_item.added', `"output_index":${state.done.length},"item":${rendered}`)
}

type Status = 'in_progress' | 'completed' | 'incomplete'

function closeItem(state: State, status: Status): void {
  const { open: item } = state
  if (item === undefined) return
  if (item.kind === 'message') closeMessage(state, item)
  else if (item.kind === 'call') closeCall(state, item, status)
  else closeReasoning(state, item)
  const rendered = JSON.stringify(renderItem(state, item, status))
  state.emit?.('response.output_item.done', `"output_index":${state.done.length},"item":${rendered}`)
  state.done.push(rendered)
  state.open = undefined
}

function closeMessage(state: State, message: OpenMessage): void {
  if (state.emit === undefined) return
  for (const part of message.parts) closePart(state.emit, part, annotationsOf(state, message, part))
}

function closeReasoning({ emit, done }: State, { id, text }: OpenReasoning): void {
  if (emit === undefined || text === '') return
  const place = `"item_id":"${id}","output_index":${done.length},"summary_index":0`
  const shown = JSON.stringify(text)
  emit('response.reasoning_summary_text.done', `${place},"text":${shown}`)
  emit('response.reasoning_summary_part.done', `${place},"part":{"type":"summary_text","text":${shown}}`)
}

function closeCall(state: State, call: OpenCall, status: Status): void {
  const { kind, name } = call.form
  if (kind === 'function' && call.arguments === '' && status === 'completed') {
    call.arguments = NO_ARGUMENTS
    emitArguments(state, call, NO_ARGUMENTS)
  }
  const { emit, deltaPrefix } = state
  if (emit === undefined) return
  const place = `"item_id":"${call.id}","output_index":${state.done.length}`
  if (kind === 'function') {
    const named = `"name":${JSON.stringify(name)},"arguments":${JSON.stringify(call.arguments)}`
    emit('response.function_call_arguments.done', `${place},${named}`)
  } else if (kind === 'custom') {
    const input = JSON.stringify(inputOf(call))
    if (!call.isPlain && input !== '""') emit('response.custom_tool_call_input.delta', deltaPrefix + input)
    emit('response.custom_tool_call_input.done', `${place},"input":${input}`)
  }
}

/** The text for a custom tool, which a provider without such tools sends as the field `input` of JSON. */
function inputOf({ arguments: text, isPlain }: OpenCall): string {
  if (isPlain) return text
  const parsed = parseJson(text)
  return isRecord(parsed) && typeof parsed['input'] === 'string' ? parsed['input'] : text
}

function renderItem(state: State, item: OpenItem, status: Status): Json {
  switch (item.kind) {
    case 'message': {
      const content = item.parts.map((part) => renderPart(part, annotationsOf(state, item, part)))
      const phase = item.phase === undefined ? {} : { phase: item.phase }
      return { id: item.id, type: 'message', status, role: 'assistant', content, ...phase }
    }
    case 'reasoning': {
      const { id, text, context, encrypted } = item
      const summary = text === '' ? [] : [{ type: 'summary_text', text }]
      const opaque = context === undefined ? encrypted : encodeContext(context)
      return { id, type: 'reasoning', summary, ...(opaque !== undefined && { encrypted_content: opaque }) }
    }
    case 'call':
      return renderCall(item, status)
  }
}

function renderCall(call: OpenCall, status: Status): Json {
  const { id, callId: call_id, form } = call
  const { kind, name, namespace } = form
  const within = namespace === undefined ? {} : { namespace }
  if (kind === 'function') {
    return { id, type: 'function_call', status, arguments: call.arguments, call_id, name, ...within }
  }
  if (kind === 'custom') {
    const input = status === 'in_progress' ? '' : inputOf(call)
    return { id, type: 'custom_tool_call', status, call_id, input, name, ...within }
  }
  return { id, type: 'local_shell_call', status, call_id, action: actionOf(call.arguments) }
}

/** A model may write a command as one text, which a shell then reads. */
function actionOf(text: string): Json {
  const parsed = parseJson(text)
  const { command, ...others } = isRecord(parsed) ? parsed : {}
  const words = typeof command === 'string' ? ['bash', '-lc', command] : command
  const list = Array.isArray(words) ? words.map((word) => (typeof word === 'string' ? word : JSON.stringify(word))) : []
  return { env: {}, ...others, type: 'exec', command: list }
}
