/**
 * IDs of stored items. Each has the ID of the response that it was stored with, and that of its provider where it has one,
 * so that both are found without a query.
 */
import type { Json } from '../../lib/json.ts'
import { textOf } from '../../lib/json.ts'

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  local_shell_call: 'lsh',
  local_shell_call_output: 'lsho',
}

/** @param responseTail ID of the response without its prefix. @param at Position: `3`, or `i3` of the request's own items. */
export function newItemId({ type }: Json, responseTail: string, at: number | string): string {
  return `${PREFIXES[textOf(type)] ?? 'item'}_${responseTail}_${at}`
}

const RESPONSE_PREFIX = 'resp_'
const ITEM_ID = /^[a-z]+_(?:[\w-]{1,64}_)?([0-9A-Za-z]{1,64})_i?\d{1,6}$/

/** The ID of the response that an item was stored with; undefined: the gateway has not made this ID. */
export function responseOfItem(itemId: string): string | undefined {
  const tail = ITEM_ID.exec(itemId)?.[1]
  return tail === undefined ? undefined : RESPONSE_PREFIX + tail
}

/** The random part of a response's ID. */
export function tailOfResponse(responseId: string): string {
  return responseId.slice(RESPONSE_PREFIX.length)
}

const PROVIDER_ID = /^[a-z]+_[\w-]{1,64}$/

/** The ID of a stored item that its provider named; undefined: the name does not fit. */
export function storedItemId(providerId: string, responseTail: string, at: number): string | undefined {
  return PROVIDER_ID.test(providerId) ? `${providerId}_${responseTail}_${at}` : undefined
}

/** The ID of an item of a provider in the gateway's form, whose random part has 22 characters. */
const OF_PROVIDER = /^([a-z]+_[\w-]{1,64})_[0-9A-Za-z]{22}_\d{1,6}$/
const OF_REQUEST = /^[a-z]+_[0-9A-Za-z]{22}_i\d{1,6}$/
const OF_GATEWAY = /^[a-z]+_[0-9A-Za-z]{22}_\d{1,6}$/

/** An item as its provider or its client wrote it, without the ID that it is stored with. */
export function withOriginalId(item: Json): Json {
  const { id, ...rest } = item
  if (typeof id !== 'string') return item
  const original = OF_PROVIDER.exec(id)?.[1]
  if (original !== undefined) return { ...item, id: original }
  return OF_REQUEST.test(id) ? rest : item
}

/** Returns whether the gateway created the item from an answer of another protocol. */
export function isOfGateway({ id }: Json): boolean {
  return OF_GATEWAY.test(textOf(id))
}
