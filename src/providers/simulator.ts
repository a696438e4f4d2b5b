/**
 * A provider within the process: no network, no account, no clock and no chance in its answers. It speaks the
 * chat-completions format in bytes, so that a request to it goes through everything that a real one goes through.
 * docs/simulator.md describes how prompts control it.
 */
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { noCredential, type Provider, type Transport } from './provider.ts'
import { perform, scriptFor } from './simulator/script.ts'

export const simulatorTransport: Transport = ({ body }, onSend) => {
  onSend?.()
  return perform(scriptFor(body))
}

export const simulator = {
  id: 'simulator',
  name: 'turnpike',
  baseUrl: 'simulator://built-in',
  protocol: openaiChat({ developerRole: true, allowedTools: true, originalDetail: true }),
  authorize: noCredential,
  transport: simulatorTransport,
  scripted: true,
  source: { url: 'docs/simulator.md', read: '2026-11-20' },
} satisfies Provider
