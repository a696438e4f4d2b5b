/**
 * Citations of an answer: in the form of Anthropic's API, whose models the service has, for clients of that API; cited pages
 * also as annotations, for the others.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html, read 2026-11-24.
 */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { citationEvent, citePages } from '../anthropic-messages/response.ts'
import type { UrlCitation } from '../server-tools.ts'
import { count } from '../usage-fields.ts'

/** The citations of one block. */
export interface Cited {
  /** The text of the block within the answer's, in UTF-16 units. */
  readonly start: number
  readonly citations: Json[]
}

/** Appends the event of a citation of the text before it. Citations without a position are ignored. */
export function readCitation(cited: Cited, citation: unknown, events: ChatEvent[]): void {
  const own = isRecord(citation) ? renderCitation(citation) : undefined
  if (own === undefined) return
  cited.citations.push(own)
  events.push(citationEvent(own))
}

/** Adds the pages that a block cites. @param end Of its text. */
export function addPages(pages: UrlCitation[], { citations, start }: Cited, end: number): void {
  citePages(pages, citations, { start, end })
}

export function annotationEvents(pages: readonly UrlCitation[]): ChatEvent[] {
  return pages.length === 0 ? [] : [{ type: 'extension', index: 0, field: 'annotations', value: pages }]
}

function renderCitation({ title, source, sourceContent, location }: Json): Json | undefined {
  if (!isRecord(location)) return undefined
  const cited = { cited_text: textsOf(sourceContent) }
  const document = (kind: string, unit: string) => {
    const { [kind]: range } = location
    if (!isRecord(range)) return undefined
    const { documentIndex, start, end } = range
    const ends = { [`start_${unit}`]: count(start) ?? 0, [`end_${unit}`]: count(end) ?? 0 }
    return { ...cited, document_index: count(documentIndex) ?? 0, document_title: title ?? null, ...ends }
  }
  const { web, searchResultLocation: result } = location
  const char = document('documentChar', 'char_index')
  if (char !== undefined) return { type: 'char_location', ...char, file_id: null }
  const page = document('documentPage', 'page_number')
  if (page !== undefined) return { type: 'page_location', ...page, file_id: null }
  const chunk = document('documentChunk', 'block_index')
  if (chunk !== undefined) return { type: 'content_block_location', ...chunk, file_id: null }
  if (isRecord(result)) {
    const { searchResultIndex, start, end } = result
    const range = { start_block_index: count(start) ?? 0, end_block_index: count(end) ?? 0 }
    const of = { search_result_index: count(searchResultIndex) ?? 0, source: textOf(source), title: title ?? null }
    return { type: 'search_result_location', ...cited, ...of, ...range }
  }
  if (!isRecord(web) || textOf(web['url']) === '') return undefined
  const of = { url: textOf(web['url']), title: textOf(title), encrypted_index: '' }
  return { type: 'web_search_result_location', ...cited, ...of }
}

function textsOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((piece: unknown) => (isRecord(piece) ? textOf(piece['text']) : '')).join('')
}
