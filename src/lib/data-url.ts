/** Content of a `data:` URL (RFC 2397). */
export interface DataUrl {
  /** Lower-case, without parameters; '' when absent. */
  readonly mediaType: string
  base64(): string
  /** Read as UTF-8. */
  text(): string
}

/** Ignores parameters, and keeps invalid escapes as text. Undefined for other URLs. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma < 0 || !/^data:/i.test(url)) return undefined
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';')
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const data = url.slice(comma + 1)
  return {
    mediaType: mediaType.trim().toLowerCase(),
    base64: () => (isBase64 ? data : Buffer.from(unescapeUrl(data)).toString('base64')),
    text: () => (isBase64 ? Buffer.from(data, 'base64').toString('utf8') : unescapeUrl(data)),
  }
}

function unescapeUrl(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
