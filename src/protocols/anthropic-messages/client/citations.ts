/** Pages that other providers' answers cite, as citations of a text block. */
import { isRecord, type Json, textOf } from '../../../lib/json.ts'

/** Further ones are left out. */
const MAX_CITATIONS = 256

interface PageCitation {
  readonly citation: Json
  /** Start of the cited text in the answer; undefined: unknown. */
  readonly start: number | undefined
}

/**
 * @param annotations Of a message, in the form of chat completions.
 * The text of a page and Anthropic's own fields of it are unknown: see `withoutForeignCitations`.
 */
export function pageCitations(annotations: unknown): readonly PageCitation[] {
  if (!Array.isArray(annotations)) return []
  return annotations.slice(0, MAX_CITATIONS).flatMap((annotation: unknown) => {
    const cited = isRecord(annotation) ? annotation['url_citation'] : undefined
    if (!isRecord(cited) || textOf(cited['url']) === '') return []
    const { start_index: start } = cited
    return [
      {
        citation: {
          type: 'web_search_result_location',
          cited_text: '',
          url: textOf(cited['url']),
          title: textOf(cited['title']),
          encrypted_index: '',
        },
        start: typeof start === 'number' ? start : undefined,
      },
    ]
  })
}

/** A text block of an earlier answer, without citations that are not Anthropic's, which its API rejects. */
export function withoutForeignCitations(block: Json): Json {
  const { citations, ...rest } = block
  if (!Array.isArray(citations)) return block
  const own = citations.filter((citation: unknown) => !isRecord(citation) || citation['encrypted_index'] !== '')
  if (own.length === citations.length) return block
  return own.length === 0 ? rest : { ...block, citations: own }
}
