import { createHash } from 'node:crypto'
import type { IdempotentAsk } from '../../domain/credit.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'

/** Of what a key was used for: the endpoint, and the body as JSON, however it is spelled. */
export function fingerprintOf({ endpoint, body }: Pick<IdempotentAsk, 'endpoint' | 'body'>): Uint8Array {
  return createHash('sha256').update(endpoint).update('\n').update(canonicalJson(body)).digest()
}
