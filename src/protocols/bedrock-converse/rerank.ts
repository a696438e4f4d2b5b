/**
 * Ranking by InvokeModel, whose bodies are those of Cohere: Rerank of Cohere and of Amazon.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html, read 2026-11-24.
 */
import type { Json } from '../../lib/json.ts'
import type { UpstreamProtocol } from '../protocol.ts'
import { rerank } from '../rerank/index.ts'
import { parseError } from './errors.ts'

export function bedrockRerank(): UpstreamProtocol {
  return {
    ...rerank({ searches: 'counted', request: invocation }),
    id: 'bedrock-rerank',
    parseError,
  }
}

/** @param model May begin with a region, or be the name of a profile. */
function invocation({ model, ...body }: Json): { readonly path: string; readonly body: Json } {
  const name = String(model)
  const version = name.includes('cohere.') ? { api_version: 2 } : {}
  return { path: `/model/${encodeURIComponent(name)}/invoke`, body: { ...body, ...version } }
}
