import { anthropicMessages } from '../protocols/anthropic-messages/index.ts'
import type { Authorize, Provider } from './provider.ts'

const authorize: Authorize = ({ headers }, credential) => {
  if (credential !== '') headers['x-api-key'] = credential
}

export const anthropic: Provider = {
  id: 'anthropic',
  name: 'Anthropic',
  baseUrl: 'https://api.anthropic.com',
  apiKeyVariable: 'ANTHROPIC_API_KEY',
  protocol: anthropicMessages(),
  authorize,
  hiddenReasoning: 'asked',
  // 400, "> 64000, which is the maximum allowed number of output tokens" (quoted in anthropics/claude-code, issue 24451).
  outputLimit: { refusesMore: true },
  source: { url: 'https://platform.claude.com/docs/en/api/messages', read: '2026-11-20' },
}
