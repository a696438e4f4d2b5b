/** Named views of a page in the storage of this browser, whose text anyone may have written. */
import { type BrowserStore, createStore } from './browser-store.ts'
import { type PeriodSearch, type Range, resolvePeriod } from './period.ts'
import { formatDate, type Zone } from './time.ts'
import { visibleName } from './visible-text.ts'

/** Of an address, what is a view of its page: not what is opened in it, nor how far it was read. */
export type ViewSearch = Readonly<Record<string, string>>

/** Throws nothing, whatever it is given. */
export type ReadView = (raw: Record<string, unknown>) => ViewSearch

export interface SavedView {
  /** No two of a page have the same. */
  readonly name: string
  readonly search: ViewSearch
}

export const MAX_VIEWS = 20
export const MAX_NAME_LENGTH = 80

/** @returns What can be understood of the text, in its order; the rest is left out. Never throws. */
export function parseSavedViews(text: string | null, read: ReadView): readonly SavedView[] {
  const views = new Map<string, SavedView>()
  for (const entry of listOf(parsed(text))) {
    const { name: given, search } = fieldsOf(entry)
    const name = readViewName(given)
    if (name === undefined || views.has(name) || !isObject(search)) continue
    views.set(name, { name, search: read({ ...search }) })
    if (views.size === MAX_VIEWS) break
  }
  return [...views.values()]
}

/** Null: there are none. */
export function renderSavedViews(views: readonly SavedView[]): string | null {
  return views.length === 0 ? null : JSON.stringify(views)
}

/** The saved views of one page, for each account. */
export interface PageViews {
  readonly page: 'requests' | 'usage'
  readonly read: ReadView
  /** By `<account>.<page>`. */
  readonly store: BrowserStore<readonly SavedView[]>
}

/** @param read What of an address is a view of the page. */
export function createPageViews(page: PageViews['page'], read: ReadView): PageViews {
  const parse = (text: string | null) => parseSavedViews(text, read)
  return { page, read, store: createStore({ name: 'views', parse, render: renderSavedViews }) }
}

/** One line without white space around it; undefined when there is nothing to read in it. */
export function readViewName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const name = visibleName(value).trim().slice(0, MAX_NAME_LENGTH).toWellFormed().trim()
  return name === '' ? undefined : name
}

/** Replaces the view of the same name, or appends; returns the same list when it is full. */
export function withView(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  if (views.some(({ name }) => name === view.name)) return views.map((each) => (each.name === view.name ? view : each))
  return views.length < MAX_VIEWS ? [...views, view] : views
}

export function withoutView(views: readonly SavedView[], name: string): readonly SavedView[] {
  return views.filter((each) => each.name !== name)
}

/** Back where it was, unless another has taken its name or its place since. */
export function withRestoredView(views: readonly SavedView[], view: SavedView, index: number): readonly SavedView[] {
  const isTaken = views.some(({ name }) => name === view.name)
  return isTaken || views.length >= MAX_VIEWS ? views : views.toSpliced(index, 0, view)
}

export function isSameView(one: ViewSearch, other: ViewSearch): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

const RANGE_WORDS: Readonly<Record<Exclude<Range, 'custom'>, string>> = {
  '1h': 'last hour',
  today: 'today',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
  month: 'this month',
}

/**
 * The period within the name of a view: what moves with time is not called by the days it has now.
 * @param zone Of its days.
 */
export function periodWords(
  search: PeriodSearch,
  { fallback, now, zone }: { readonly fallback: Exclude<Range, 'custom'>; readonly now: number; readonly zone: Zone },
): string {
  const { range, label, start } = resolvePeriod(search, now, fallback, zone)
  if (range !== 'custom') return RANGE_WORDS[range]
  return search.to === undefined ? `since ${formatDate(search.from ?? start, zone)}` : label
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? { ...value } : {}
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
