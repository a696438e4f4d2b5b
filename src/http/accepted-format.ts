/** In which of its formats an answer is wanted. */

/** A media type, and what it is called among us. */
export type MediaType<Format extends string> = readonly [type: string, format: Format]

const MAX_RANGES = 50

/**
 * By an `Accept` header (RFC 9110, 12.5.1): the type with the highest quality, of equals the one that is named more
 * exactly, then the one that stands first. The first also where nothing of ours is accepted.
 */
export function acceptedFormat<Format extends string>(
  accept: string | undefined,
  types: readonly [MediaType<Format>, ...MediaType<Format>[]],
): Format {
  const usual = types[0][1]
  if (accept === undefined) return usual
  const ranges = accept.split(',', MAX_RANGES).map(parseRange)
  let best: { format: Format; quality: number; exactness: number } | undefined
  for (const [type, format] of types) {
    const { quality, exactness } = rate(type, ranges)
    const isBetter =
      best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness)
    if (quality > 0 && isBetter) best = { format, quality, exactness }
  }
  return best?.format ?? usual
}

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
