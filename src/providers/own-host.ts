/** Tells hosts of the operator's own (vLLM, SGLang, llama.cpp, a proxy) from those of the makers of models. */
import type { Provider } from './provider.ts'

/** Where the hosts in the registry are reached: their own domains, with every region and subdomain. */
const MAKERS: readonly string[] = [
  'openai.com',
  'anthropic.com',
  'googleapis.com',
  'deepseek.com',
  'mistral.ai',
  'groq.com',
  'x.ai',
  'together.xyz',
  'together.ai',
  'fireworks.ai',
  'openrouter.ai',
  'cerebras.ai',
  'perplexity.ai',
  'moonshot.ai',
  'moonshot.cn',
  'z.ai',
  'bigmodel.cn',
  'aliyuncs.com',
  'huggingface.co',
  'ollama.com',
  'azure.com',
  'azure.us',
  'azure.cn',
  'amazonaws.com',
  'amazonaws.com.cn',
]

/** @param address The operator's `base_url`; undefined or '': the registry's. */
export function isOwnHost(provider: Provider, address: string | undefined): boolean {
  if (address === undefined || address === '' || provider.transport !== undefined) return false
  const host = new URL(address).hostname
  return !MAKERS.some((domain) => host === domain || host.endsWith(`.${domain}`))
}
