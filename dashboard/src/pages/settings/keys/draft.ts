/** A key as it is being filled in, and what is sent of it. */
import { formatDate } from '../../../lib/time.ts'
import { readNumber, textOfNumber } from '../../../ui/form/number-text.ts'
import { DELEGATING_SCOPES, isScope, type Scope } from '../members/rights.ts'
import {
  linesOf,
  NO_TAGS,
  type SentTags,
  sentTagsOf,
  type TagDraft,
  type TagProblems,
  type TagSettings,
  tagDraftOf,
  tagProblemsOf,
} from './tags.ts'

const EXPIRIES = ['keep', 'never', '30', '90', '365', 'date'] as const
export type Expiry = (typeof EXPIRIES)[number]

export interface KeyDraft extends TagDraft {
  readonly name: string
  readonly access: 'full' | 'chosen'
  readonly scopes: readonly Scope[]
  readonly expiry: Expiry
  /** A day, `2026-11-22`, of `expiry: 'date'`. */
  readonly lastDay: string
  /** As typed. Empty: no limit. */
  readonly budgetUsd: string
  readonly requestsPerMinute: string
  readonly allModels: boolean
  readonly models: readonly string[]
  /** One address or CIDR block a line. */
  readonly addresses: string
  /** An id. Empty: of the account. It is chosen once. */
  readonly team: string
}

/** What of a key can be chosen. */
export interface KeyLimits extends TagSettings {
  readonly name: string
  readonly scopes: readonly string[]
  readonly ip_allowlist: readonly string[]
  readonly monthly_budget_usd: number | null
  readonly requests_per_minute: number | null
  readonly models: readonly string[]
  readonly expires_at: string | null
}

export const NEW_KEY: KeyDraft = {
  name: '',
  access: 'full',
  scopes: ['chat', 'models:read'],
  expiry: 'never',
  lastDay: '',
  budgetUsd: '',
  requestsPerMinute: '',
  allModels: true,
  models: [],
  addresses: '',
  team: '',
  ...NO_TAGS,
}

export function draftOf(key: KeyLimits): KeyDraft {
  return {
    name: key.name,
    access: key.scopes.length === 0 ? 'full' : 'chosen',
    scopes: key.scopes.filter(isScope),
    expiry: key.expires_at === null ? 'never' : 'keep',
    lastDay: '',
    budgetUsd: textOfNumber(key.monthly_budget_usd ?? undefined),
    requestsPerMinute: textOfNumber(key.requests_per_minute ?? undefined),
    allModels: key.models.length === 0,
    models: key.models,
    addresses: key.ip_allowlist.join('\n'),
    team: '',
    ...tagDraftOf(key),
  }
}

const MAX_USD = 1_000_000_000
const MAX_REQUESTS = 1_000_000_000

export interface DraftProblems extends TagProblems {
  readonly budget: string | undefined
  readonly requests: string | undefined
}

/** What is wrong with numbers, as they are typed: what cannot be read is never sent as "no limit". */
export function problemsOf(draft: KeyDraft): DraftProblems {
  return {
    budget: readNumber(draft.budgetUsd, { min: 0, max: MAX_USD }).problem,
    requests: readNumber(draft.requestsPerMinute, { min: 1, max: MAX_REQUESTS, whole: true }).problem,
    ...tagProblemsOf(draft),
  }
}

/** Whether it has a budget, a rate, models or an expiry: such a key cannot manage keys or members. */
export function isLimited(draft: KeyDraft): boolean {
  const typed = [draft.budgetUsd, draft.requestsPerMinute].some((text) => text.trim() !== '')
  return typed || !draft.allModels || draft.expiry !== 'never'
}

/** The chosen ones without those that its limits rule out. */
export function scopesOf(draft: KeyDraft): Scope[] {
  return draft.scopes.filter((scope) => !isLimited(draft) || !DELEGATING_SCOPES.includes(scope))
}

/** What is still needed, of what can be checked here, in a sentence. */
export function missingOf(draft: KeyDraft): string | undefined {
  if (draft.name.trim() === '') return 'Enter a name.'
  if (draft.access !== 'full' && scopesOf(draft).length === 0) return 'Choose what the key may do.'
  if (!draft.allModels && draft.models.length === 0) return 'Choose a model.'
  if (draft.expiry === 'date' && draft.lastDay === '') return 'Choose the last day.'
  return Object.values(problemsOf(draft)).some((problem) => problem !== undefined)
    ? 'Correct the marked fields.'
    : undefined
}

export interface SentKey extends SentTags {
  name: string
  scopes: Scope[]
  ip_allowlist: string[]
  monthly_budget_usd: number | null
  requests_per_minute: number | null
  models: string[]
  expires_at: string | null
}

/** @param now Unix milliseconds. */
function sentOf(draft: KeyDraft, now: number): SentKey {
  return {
    name: draft.name.trim(),
    scopes: draft.access === 'full' ? [] : scopesOf(draft),
    ip_allowlist: linesOf(draft.addresses),
    monthly_budget_usd: readNumber(draft.budgetUsd, { min: 0, max: MAX_USD }).value ?? null,
    requests_per_minute: readNumber(draft.requestsPerMinute, { min: 1, max: MAX_REQUESTS, whole: true }).value ?? null,
    models: draft.allModels ? [] : [...draft.models],
    expires_at: expiryOf(draft, now) ?? null,
    ...sentTagsOf(draft),
  }
}

/**
 * A new key.
 * @param now Unix milliseconds.
 */
export function bodyOf(draft: KeyDraft, now: number): SentKey & { team_id?: string } {
  return { ...sentOf(draft, now), ...(draft.team !== '' && { team_id: draft.team }) }
}

/**
 * What is different from what it was when it was opened: whoever may not give all that a key has can still rename it, and
 * what somebody else changed meanwhile stays.
 */
export function changesOf(key: KeyLimits, draft: KeyDraft, now: number): Partial<SentKey> {
  const before = draftOf(key)
  const sent = sentOf(draft, now)
  const isSameAccess = draft.access === before.access && (draft.access === 'full' || same(sent.scopes, before.scopes))
  return {
    ...(sent.name !== key.name && { name: sent.name }),
    ...(!isSameAccess && { scopes: sent.scopes }),
    ...(!same(sent.ip_allowlist, key.ip_allowlist) && { ip_allowlist: sent.ip_allowlist }),
    ...(sent.monthly_budget_usd !== key.monthly_budget_usd && { monthly_budget_usd: sent.monthly_budget_usd }),
    ...(sent.requests_per_minute !== key.requests_per_minute && { requests_per_minute: sent.requests_per_minute }),
    ...(!same(sent.models, key.models) && { models: sent.models }),
    ...(draft.expiry !== before.expiry && { expires_at: sent.expires_at }),
    ...(!same(linesOf(draft.tags), linesOf(before.tags)) && { tags: sent.tags }),
    ...(!same(sent.require_tags, key.require_tags) && { require_tags: sent.require_tags }),
  }
}

const DAY_MS = 86_400_000

/** ISO 8601; undefined: never, or as it was. A chosen day is the last one, of UTC. */
function expiryOf({ expiry, lastDay }: KeyDraft, now: number): string | undefined {
  if (expiry === 'never' || expiry === 'keep') return undefined
  if (expiry === 'date') return new Date(Date.parse(lastDay) + DAY_MS).toISOString()
  return new Date(now + Number(expiry) * DAY_MS).toISOString()
}

/** What is offered; a key that ends keeps its end unless another is chosen. */
export function expiryChoices(
  key: KeyLimits | undefined,
): readonly { readonly value: Expiry; readonly label: string }[] {
  const ends = key?.expires_at ?? undefined
  return [
    ...(ends === undefined ? [] : [{ value: 'keep' as const, label: `${formatDate(ends)} (unchanged)` }]),
    { value: 'never', label: 'Never' },
    { value: '30', label: 'In 30 days' },
    { value: '90', label: 'In 90 days' },
    { value: '365', label: 'In a year' },
    { value: 'date', label: 'Custom date' },
  ]
}

/** The order does not matter. */
function same(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each) => right.includes(each))
}
