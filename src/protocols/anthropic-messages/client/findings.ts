/** Collects the parts of a Messages request that a chat completion cannot express. */
import type { NativeRequest } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'

export interface Findings {
  essential: string | undefined
  readonly dropped: Set<string>
  readonly untranslated: unknown[]
  builtInTools: number
  caching: '5m' | '1h' | undefined
}

export function newFindings(): Findings {
  return { essential: undefined, dropped: new Set(), untranslated: [], builtInTools: 0, caching: undefined }
}

/** Records the cache lifetime that a block, a tool or the request selects. */
export function noteCaching(findings: Findings, { cache_control: control }: Json): void {
  if (!isRecord(control)) return
  findings.caching = findings.caching === '1h' || control['ttl'] === '1h' ? '1h' : '5m'
}

/** Blocks in a block that is not translated. */
function noteCachingWithin(findings: Findings, value: unknown): void {
  if (Array.isArray(value)) for (const part of value) noteCachingWithin(findings, part)
  if (!isRecord(value)) return
  noteCaching(findings, value)
  noteCachingWithin(findings, value['content'])
  noteCachingWithin(findings, value['source'])
}

/** Records a part that other protocols must reject. */
export function noteEssential(findings: Findings, path: string, value: unknown): void {
  findings.essential ??= path
  findings.untranslated.push(value)
  noteCachingWithin(findings, value)
}

/** Records a part that other protocols omit. @param name In `x-turnpike-warnings`. */
export function noteDropped(findings: Findings, name: string, value: unknown): void {
  findings.dropped.add(name)
  findings.untranslated.push(value)
  noteCachingWithin(findings, value)
}

interface Source {
  readonly body: Json
  /** The fields of `body` without a translation. */
  readonly extra: Json
  readonly headers: Readonly<Record<string, string>>
}

export function nativeRequest({ body, extra, headers }: Source, findings: Findings): NativeRequest {
  const { essential, dropped, untranslated, builtInTools, caching } = findings
  return {
    protocol: 'anthropic',
    body,
    extra,
    headers,
    essential,
    dropped: [...Object.keys(extra), ...dropped],
    untranslated: Object.keys(extra).length === 0 ? untranslated : [extra, ...untranslated],
    builtInTools,
    caching,
  }
}
