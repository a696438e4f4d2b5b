/** The attribution of a request: tags, session and end user, recorded with its cost. */
import { createHash } from 'node:crypto'
import { isRecord } from '../lib/json.ts'
import { GatewayError } from './errors.ts'
import type { Caller } from './identity/caller.ts'
import type { AccountId } from './ids.ts'

const TAGS_HEADER = 'x-turnpike-tags'

/** Tags of one request, from all sources. */
export const MAX_TAGS = 10
export const TAG_KEY_PATTERN = '^[a-z0-9_.:-]{1,32}$'
export const TAG_VALUE_PATTERN = '^[a-z0-9_.:-]{1,64}$'
const TAG_KEY = new RegExp(TAG_KEY_PATTERN)
const TAG_VALUE = new RegExp(TAG_VALUE_PATTERN)
export const TAG_RULE =
  '1 to 32 characters of `a-z 0-9 _ . : -`, then `=` and a value of 1 to 64 of these characters, such as `customer=northwind`'

export interface Attribution {
  /** The tags as `key=value`, sorted by key. Empty if there are none. */
  readonly tags: readonly string[]
  /** The name of the client's session. */
  readonly session: string | undefined
  /** Hash of the client's name for its user, see `endUserHash`. */
  readonly endUser: string | undefined
}

/** The attribution in the headers of a request. Fields are absent if the headers have none. */
export interface AttributionHeaders {
  readonly tags?: string | undefined
  readonly session?: string | undefined
}

/** The headers that name a session, in order of precedence: ours, Claude Code's, and those of Codex. */
const SESSION_HEADERS = [
  'x-turnpike-session',
  'x-claude-code-session-id',
  'thread-id',
  'thread_id',
  'session-id',
  'session_id',
  'conversation_id',
] as const
const SESSION = /^[\w.:-]{1,128}$/

/** Ignores sessions with characters other than `[A-Za-z0-9_.:-]` or more than 128. Undefined without attribution. */
export function readAttributionHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): AttributionHeaders | undefined {
  const tags = headers[TAGS_HEADER]
  const session = sessionOf(headers)
  return tags === undefined && session === undefined ? undefined : { tags: tags && String(tags), session }
}

function sessionOf(headers: Readonly<Record<string, string | readonly string[] | undefined>>): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = headers[name]
    if (typeof value === 'string' && SESSION.test(value)) return value
  }
  return undefined
}

export interface AttributionSources {
  readonly caller: Pick<Caller, 'accountId' | 'tags' | 'requireTags'>
  readonly headers: AttributionHeaders | undefined
  /** The request, of any API. */
  readonly body: unknown
}

export interface RequestAttribution {
  /** Undefined if the request has no attribution. */
  readonly attribution: Attribution | undefined
  /** The members of `metadata` that are not tags. */
  readonly ignored: readonly string[]
}

const NONE: readonly string[] = []
const NOTHING: RequestAttribution = { attribution: undefined, ignored: NONE }

/**
 * Joins defaults of the key, the body's `metadata` and the header; a later one replaces an earlier one of the same key.
 * Throws 400 for a header that breaks the rules, more than 10 tags, and a tag that the key requires and nothing gives.
 */
export function attributionOf({ caller, headers, body }: AttributionSources): RequestAttribution {
  const { metadata, user, safety_identifier: safety } = isRecord(body) ? body : {}
  const { tags: defaults, requireTags } = caller
  if (
    headers === undefined &&
    metadata === undefined &&
    user === undefined &&
    safety === undefined &&
    defaults === undefined &&
    requireTags === undefined
  )
    return NOTHING
  const ofHeader = headers?.tags === undefined ? undefined : parseTags(headers.tags)
  const tags = new Map([...(defaults ?? NONE).map(splitTag), ...(ofHeader ?? [])])
  const ignored = addMetadata(tags, metadata, ofHeader)
  if (tags.size > MAX_TAGS)
    throw invalidTags(
      `A request has at most ${MAX_TAGS} tags; this one has ${tags.size} with those of its key and team.`,
    )
  const missing = requireTags?.find((key) => !tags.has(key))
  if (missing !== undefined) throw missingTag(missing)
  const name = [safety, user, isRecord(metadata) ? metadata['user_id'] : undefined].find(isName)
  const endUser = name === undefined ? undefined : endUserHash(caller.accountId, name)
  const session = headers?.session
  if (tags.size === 0 && session === undefined && endUser === undefined) return { attribution: undefined, ignored }
  return { attribution: { tags: tagTexts(tags), session, endUser }, ignored }
}

/** @returns the members that are not tags. The header replaces them; defaults of the key do not. */
function addMetadata(
  tags: Map<string, string>,
  metadata: unknown,
  ofHeader: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  if (!isRecord(metadata)) return NONE
  const ignored: string[] = []
  for (const [key, value] of Object.entries(metadata)) {
    if (key === 'user_id' || ofHeader?.has(key) === true) continue
    const isTag = typeof value === 'string' && TAG_KEY.test(key) && TAG_VALUE.test(value)
    if (isTag && (tags.size < MAX_TAGS || tags.has(key))) tags.set(key, value)
    else ignored.push(`metadata.${key}`)
  }
  return ignored
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Parses tags such as `customer=northwind, env=prod`. Throws 400. */
export function parseTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(',')) {
    const tag = part.trim()
    const [key, value] = splitTag(tag)
    if (!TAG_KEY.test(key) || !TAG_VALUE.test(value))
      throw invalidTags(`'${TAGS_HEADER}' has the invalid tag '${tag.slice(0, 100)}'. A tag is a key of ${TAG_RULE}.`)
    if (tags.has(key)) throw invalidTags(`'${TAGS_HEADER}' has the tag '${key}' twice.`)
    tags.set(key, value)
  }
  if (tags.size > MAX_TAGS)
    throw invalidTags(`'${TAGS_HEADER}' has ${tags.size} tags; a request has at most ${MAX_TAGS}.`)
  return tags
}

/** Empty without an `=`. */
export function splitTag(tag: string): readonly [key: string, value: string] {
  const at = tag.indexOf('=')
  return at === -1 ? [tag, ''] : [tag.slice(0, at), tag.slice(at + 1)]
}

/** Returns the tags as `key=value`, sorted by key. */
export function tagTexts(tags: ReadonlyMap<string, string>): readonly string[] {
  return [...tags].map(([key, value]) => `${key}=${value}`).toSorted()
}

function invalidTags(message: string): GatewayError {
  return new GatewayError('invalid_header', message, { param: TAGS_HEADER })
}

function missingTag(key: string): GatewayError {
  const message = `The API key or the team of this request requires the tag '${key}'. Send it as '${TAGS_HEADER}: ${key}=…' or in 'metadata'.`
  return new GatewayError('missing_field', message, { param: TAGS_HEADER })
}

const END_USER_LENGTH = 32

/** 128 bits in hexadecimal, different for each account: names of users are not stored. */
export function endUserHash(accountId: AccountId, name: string): string {
  return createHash('sha256').update(`${accountId}\n${name}`).digest('hex').slice(0, END_USER_LENGTH)
}

/** @param text A hash, or the name that a client sends. */
export function endUserOf(accountId: AccountId, text: string): string {
  return /^[0-9a-f]{32}$/.test(text) ? text : endUserHash(accountId, text)
}

/** Returns the tags as stored. Undefined if there are none. */
export function tagsText(tags: readonly string[] | undefined): string | undefined {
  return tags === undefined || tags.length === 0 ? undefined : tags.join(',')
}

/** @param text As `tagsText` wrote it. */
export function tagsOfText(text: string | null): Record<string, string> {
  return text === null ? {} : Object.fromEntries(text.split(',').map(splitTag))
}

/** The columns of a completion or a hold. Undefined without attribution. */
export function storedAttribution(row: {
  readonly tags: string | null
  readonly session_id: string | null
  readonly end_user: string | null
}): Attribution | undefined {
  const { tags, session_id: session, end_user: endUser } = row
  if (tags === null && session === null && endUser === null) return undefined
  return { tags: tags?.split(',') ?? NONE, session: session ?? undefined, endUser: endUser ?? undefined }
}
