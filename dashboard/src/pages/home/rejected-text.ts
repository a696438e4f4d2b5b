import { formatCount, plural } from '../../lib/format.ts'

interface Rejections {
  readonly data: readonly { readonly status: number; readonly code: string }[]
  readonly has_more: boolean
}

/**
 * `2 requests arrived and were rejected: 401 invalid credential`, each cause once, with its number where there are
 * several.
 * @returns Undefined: none were rejected.
 */
export function rejectedText({ data, has_more: hasMore }: Rejections): string | undefined {
  if (data.length === 0) return undefined
  const causes = [...Map.groupBy(data, ({ status, code }) => `${status} ${code.replaceAll('_', ' ')}`)]
  const parts = causes.map(([cause, all]) => (causes.length === 1 ? cause : `${cause} (${formatCount(all.length)})`))
  const count = hasMore ? `More than ${plural(data.length, 'request')}` : plural(data.length, 'request')
  return `${count} arrived and ${data.length === 1 ? 'was' : 'were'} rejected: ${parts.join(', ')}`
}
