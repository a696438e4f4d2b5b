/** How models and their qualities are named for people. */
import { Braces, Brain, Eye, FileJson, type LucideIcon, Wrench, Zap } from 'lucide-react'
import { formatDate } from '../../lib/time.ts'
import type { CapabilityName } from './listing.ts'

export interface CapabilityWords {
  readonly word: string
  readonly icon: LucideIcon
}

export const CAPABILITY_WORDS: Readonly<Record<CapabilityName, CapabilityWords>> = {
  tools: { word: 'Tools', icon: Wrench },
  json: { word: 'JSON', icon: Braces },
  json_schema: { word: 'JSON schema', icon: FileJson },
  vision: { word: 'Vision', icon: Eye },
  reasoning: { word: 'Reasoning', icon: Brain },
  streaming: { word: 'Streaming', icon: Zap },
}

/** As facets name them: what is not known is named by itself. */
export function capabilityWord(name: string): string {
  const words: Readonly<Record<string, CapabilityWords | undefined>> = CAPABILITY_WORDS
  return words[name]?.word ?? name
}

const MODALITIES: Readonly<Record<string, string>> = {
  text: 'Text',
  image: 'Images',
  audio: 'Audio',
  video: 'Video',
  file: 'Files',
}

export function modalityWord(name: string): string {
  return MODALITIES[name] ?? name
}

export interface PriceOrigin {
  readonly price_source: { readonly url: string; readonly read: string } | null
  readonly price_overridden: boolean
  readonly pricing: object | null
}

/** In one sentence. */
export function originText({ price_source: source, price_overridden: isOverridden, pricing }: PriceOrigin): string {
  if (pricing === null) return 'No price is configured. Models without a price cannot be called.'
  if (isOverridden) return 'Set by the operator of this installation.'
  return source === null ? 'Source unknown.' : `Read on ${formatDate(source.read)} at ${source.url}`
}

/** Whether an address can be gone to: some sources are documents of the project. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//.test(url)
}

export interface Retirement {
  readonly text: string
  readonly isOver: boolean
}

/** @param date ISO date. @param now Unix milliseconds. */
export function retirementOf(date: string | null, now: number): Retirement | undefined {
  if (date === null) return undefined
  const isOver = Date.parse(date) <= now
  return { text: `${isOver ? 'Retired' : 'Retires'} ${formatDate(date)}`, isOver }
}

/** Soon enough to be told in a list. */
export const RETIRES_SOON_MS = 90 * 86_400_000

/** Of names in an address that no model has: shortened, since anything may be there. */
export function unlistedText(names: readonly string[]): string {
  const quoted = names.map((name) => `“${name.slice(0, 100)}”`)
  const list = new Intl.ListFormat('en-US').format(quoted)
  return `${list} ${names.length === 1 ? 'is not a listed model and was' : 'are not listed models and were'} left out.`
}
