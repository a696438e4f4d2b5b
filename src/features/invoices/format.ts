/** What an invoice may be asked for as. */
export const FORMATS = ['json', 'html', 'csv'] as const
export type InvoiceFormat = (typeof FORMATS)[number]

const MEDIA_TYPES: readonly (readonly [type: string, format: InvoiceFormat])[] = [
  ['application/json', 'json'],
  ['text/html', 'html'],
  ['text/csv', 'csv'],
]

/**
 * By an `Accept` header (RFC 9110, 12.5.1): the type with the highest quality, of equals the one that is named more
 * exactly, then JSON before HTML before CSV. JSON also where nothing of ours is accepted.
 */
export function acceptedFormat(accept: string | undefined): InvoiceFormat {
  if (accept === undefined) return 'json'
  const ranges = accept.split(',', MAX_RANGES).map(parseRange)
  let best: { format: InvoiceFormat; quality: number; exactness: number } | undefined
  for (const [type, format] of MEDIA_TYPES) {
    const { quality, exactness } = rate(type, ranges)
    const isBetter =
      best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness)
    if (quality > 0 && isBetter) best = { format, quality, exactness }
  }
  return best?.format ?? 'json'
}

const MAX_RANGES = 50

interface Range {
  readonly type: string
  readonly quality: number
}

function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return { type, quality: quality === undefined ? 1 : Number(quality) || 0 }
}

/** The range that names a type most exactly says its quality. */
function rate(type: string, ranges: readonly Range[]): { readonly quality: number; readonly exactness: number } {
  const names = ['*/*', type.replace(/\/.*/, '/*'), type]
  for (let exactness = names.length - 1; exactness >= 0; exactness--) {
    const range = ranges.find((each) => each.type === names[exactness])
    if (range !== undefined) return { quality: range.quality, exactness }
  }
  return { quality: 0, exactness: 0 }
}
