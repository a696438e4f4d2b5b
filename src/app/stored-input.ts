/**
 * Joins the items that a request to the Responses API refers to with its own input: the conversation of
 * `previous_response_id`, and single items. The result is within all limits of a body and is parsed like one.
 */
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import { type BodyFindings, checkJsonBytes, type ParseLargeBody } from '../domain/json-body.ts'
import { isResponseId } from '../features/responses/routes.ts'
import type { Chain, Link, ResponseContent, ResponseStore } from '../features/responses/store.ts'
import { type BodyBudget, MAX_HERE_BYTES, MAX_HERE_VALUES } from '../http/request-body.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { responsesApi } from '../protocols/openai-responses/client/index.ts'
import { type OwnItem, ownItems, referenceIn } from '../protocols/openai-responses/client/stored.ts'
import { responseOfItem } from '../protocols/openai-responses/item-ids.ts'

export interface InputDeps {
  readonly store: ResponseStore
  readonly budget: BodyBudget
  readonly parseLarge: ParseLargeBody
  /** The limit of a body, and of a conversation with the input that continues it. */
  readonly limitBytes: number
}

export interface GivenInput {
  readonly caller: Caller
  readonly body: unknown
  readonly findings: BodyFindings | undefined
  readonly isKeyed: boolean
  readonly isAbandoned: () => boolean
}

export interface JoinedInput {
  /** The body with all items in `input` and without `previous_response_id`. */
  readonly body: unknown
  readonly findings: BodyFindings | undefined
  /** Items at the beginning that come from earlier responses. */
  readonly earlierItems: number
  readonly previousId: string | undefined
  /** The items of the request with references replaced. Undefined if the input is invalid. */
  readonly own: readonly OwnItem[] | undefined
  /** Frees the memory of the items. */
  readonly release: () => void
}

/** Rejects with `GatewayError` if an item is not stored, or if the conversation exceeds the limits of a body. */
export async function joinInput(deps: InputDeps, given: GivenInput): Promise<JoinedInput> {
  const { body, findings } = given
  const unchanged = { body, findings, earlierItems: 0, previousId: undefined, own: undefined, release: () => {} }
  if (!isRecord(body)) return unchanged
  const own = ownItems(body['input'])
  const { previous_response_id: previousId, ...rest } = body
  if (own === undefined) return { ...unchanged, body: typeof previousId === 'string' ? rest : body }
  const isContinued = typeof previousId === 'string'
  if (!isContinued && !own.some((item) => referenceIn(item) !== undefined)) return { ...unchanged, own }
  const { accountId, keyId } = given.caller
  const chain = isContinued ? await requireChain(deps, given.caller, previousId) : NO_CHAIN
  const referred = await referredLinks(deps, given.caller, own)
  const bytes = sizeOf([...chain.links, ...referred])
  if (bytes > deps.limitBytes) throw tooLarge(deps.limitBytes)
  const { release } = deps.budget.reserve({ account: accountId, key: keyId }, bytes)
  try {
    const ids = new Set([...chain.links, ...referred].map(({ id }) => id))
    const contents = await deps.store.contents(accountId, [...ids])
    const resolved = resolveReferences(own, contents)
    const earlier = chain.links.map(({ id }) => earlierItems(contents.get(id), id))
    const parsed = await parse(deps, given, { rest, earlier, own: resolved })
    const count = chain.links.reduce((sum, { items }) => sum + items, 0)
    return { ...parsed, earlierItems: count, previousId: isContinued ? previousId : undefined, own: resolved, release }
  } catch (error) {
    release()
    throw error
  }
}

const NO_CHAIN: Chain = { links: [], missingId: undefined }

async function requireChain({ store, limitBytes }: InputDeps, { accountId }: Caller, id: string): Promise<Chain> {
  if (!isResponseId(id)) throw notStored(id)
  const chain = await store.chain({ accountId, id }, limitBytes)
  if (sizeOf(chain.links) > limitBytes) throw tooLarge(limitBytes)
  if (chain.missingId !== undefined) throw notStored(id, chain.missingId)
  return chain
}

async function referredLinks(
  { store }: InputDeps,
  { accountId }: Caller,
  own: readonly OwnItem[],
): Promise<readonly Link[]> {
  const ids = own.flatMap((item) => responseOfItem(referenceIn(item) ?? '') ?? [])
  return ids.length === 0 ? [] : await store.links(accountId, [...new Set(ids)])
}

function sizeOf(links: readonly Link[]): number {
  return links.reduce((sum, { itemsBytes }) => sum + itemsBytes, 0)
}

function resolveReferences(
  own: readonly OwnItem[],
  contents: ReadonlyMap<string, ResponseContent>,
): readonly OwnItem[] {
  const items = new Map<string, Json>()
  const read = new Set<string>()
  return own.map((one, at) => {
    const reference = referenceIn(one)
    if (reference === undefined) return one
    const responseId = responseOfItem(reference) ?? ''
    if (!read.has(responseId)) {
      read.add(responseId)
      const stored: readonly Json[] = JSON.parse(`[${contents.get(responseId)?.items ?? ''}]`)
      for (const item of stored) items.set(String(item['id']), item)
    }
    const item = items.get(reference)
    if (item === undefined) throw unknownItem(reference, at)
    return { item, text: JSON.stringify(item) }
  })
}

/** Returns earlier items. A response that was just deleted, or that can no longer be unsealed, counts as missing. */
function earlierItems(content: ResponseContent | undefined, id: string): string {
  if (content === undefined) throw notStored(id)
  return content.items
}

interface Joined {
  /** The other fields of the body. */
  readonly rest: Json
  /** JSON texts of items, joined with commas; may be empty. */
  readonly earlier: readonly string[]
  readonly own: readonly OwnItem[]
}

async function parse(
  { parseLarge, limitBytes }: InputDeps,
  { caller, isKeyed, isAbandoned }: GivenInput,
  { rest, earlier, own }: Joined,
): Promise<Pick<JoinedInput, 'body' | 'findings'>> {
  const items = [...earlier, ...own.map(({ text }) => text)].filter((text) => text !== '')
  const { input: _, ...others } = rest
  const fields = Object.keys(others).map((name) => `${JSON.stringify(name)}:${JSON.stringify(others[name])}`)
  const bytes = Buffer.from(`{${[...fields, `"input":[${items.join(',')}]`].join(',')}}`)
  if (bytes.length > limitBytes) throw tooLarge(limitBytes)
  if (bytes.length <= MAX_HERE_BYTES && checkJsonBytes(bytes).values <= MAX_HERE_VALUES)
    return { body: JSON.parse(bytes.toString('utf8')), findings: undefined }
  const { endpoint } = responsesApi
  return await parseLarge({ bytes, owner: caller.accountId, endpoint, isKeyed, isAbandoned })
}

/** @param missingId The missing response if it is an earlier one of the conversation. */
function notStored(id: string, missingId = id): GatewayError {
  const why = missingId === id ? '' : `: it continues '${missingId}', which is not stored any more`
  const message = `Previous response with id '${id.slice(0, 100)}' not found${why}. Send all items of the conversation as \`input\`.`
  return new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' })
}

function unknownItem(id: string, at: number): GatewayError {
  const param = `input[${at}]`
  const message = `Item with id '${id.slice(0, 100)}' not found. Send the item itself.`
  return new GatewayError('invalid_value', message, { param })
}

function tooLarge(limitBytes: number): GatewayError {
  const message = `The conversation with this input exceeds ${limitBytes} bytes. Begin a new one, with less as \`input\`.`
  return new GatewayError('body_too_large', message, { param: 'previous_response_id' })
}
