import { geminiEmbeddings } from '../protocols/gemini/embeddings.ts'
import { gemini } from '../protocols/gemini/index.ts'
import type { Authorize, Provider } from './provider.ts'

/** A header, never the address's `key` parameter: addresses end up in logs. */
const apiKeyHeader: Authorize = ({ headers }, credential) => {
  if (credential !== '') headers['x-goog-api-key'] = credential
}

export const google: Provider = {
  id: 'google',
  telemetryName: 'gcp.gemini',
  name: 'Google',
  baseUrl: 'https://generativelanguage.googleapis.com',
  apiKeyVariable: 'GEMINI_API_KEY',
  protocol: gemini(),
  tasks: { embedding: geminiEmbeddings() },
  authorize: apiKeyHeader,
  hiddenReasoning: 'unasked',
  // 400, "the supported range is from 1 (inclusive) to 8193 (exclusive)" (quoted in stackblitz-labs/bolt.diy, issue 955).
  outputLimit: { refusesMore: true },
  source: { url: 'https://ai.google.dev/api/generate-content', read: '2026-11-20' },
}
