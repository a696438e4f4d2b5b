import type { ForwardedFields } from '../protocols/body-fields.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { openaiResponses } from '../protocols/openai-responses/index.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'
import type { Authorize, Provider, ProviderSettings } from './provider.ts'
import { responsesForTools } from './responses-for-tools.ts'

/** The newest stable version, for the path with deployments. */
const API_VERSION = '2024-10-21'
/** The only version of the path for models of other makers. */
const MODELS_API_VERSION = '2024-05-01-preview'

const FORWARDS: ForwardedFields = {
  fields: ['verbosity', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier', 'audio'],
  source: { url: 'https://learn.microsoft.com/azure/ai-foundry/openai/reference', read: '2026-11-23' },
}

const codec = openaiChat({
  maxTokensField: 'max_completion_tokens',
  reasoningField: 'none',
  customTools: true,
  originalDetail: true,
  cacheMarks: ['prompt_cache_breakpoint'],
  forwards: FORWARDS,
})
const modelsCodec = openaiChat({ reasoningField: 'none', forwards: FORWARDS })

const embeddingCodec = openaiEmbeddings({ tokenIds: true, user: true })

const authorize: Authorize = ({ headers }, credential) => {
  if (credential !== '') headers['api-key'] = credential
}

/**
 * Azure OpenAI. The model is the name of a deployment, which is part of the path unless the address is that of the
 * newer API (`…/openai/v1`) or of models of other makers (`…/models`). Results of its content filters
 * beside an answer are omitted.
 */
export const azure: Provider = {
  id: 'azure',
  telemetryName: 'azure.ai.openai',
  name: 'Azure OpenAI',
  ...deployments('/openai', API_VERSION),
  authorize,
  hiddenReasoning: 'unasked',
  // 400 `invalid_value`, "This model supports at most 16384 completion tokens" (quoted in charmbracelet/catwalk, issue 41).
  outputLimit: { refusesMore: true },
  settings: ['api_version'],
  settingVariables: { base_url: 'AZURE_OPENAI_ENDPOINT', api_key: 'AZURE_OPENAI_API_KEY' },
  configure,
  source: { url: 'https://learn.microsoft.com/azure/ai-foundry/openai/reference', read: '2026-11-20' },
}

function configure({ base_url: baseUrl = '', api_version: version }: ProviderSettings): Protocols {
  const { pathname } = new URL(baseUrl === '' ? 'https://azure.invalid' : baseUrl)
  if (pathname.endsWith('/openai/v1')) {
    const query = version === undefined ? '' : versionQuery(version)
    const { protocol: chat, tasks } = withPaths(codec, (operation) => `/${operation}${query}`)
    const responses = withPath(openaiResponses(), () => `/responses${query}`)
    const protocols = { 'openai-responses': responses, 'openai-auto': responsesForTools(chat, responses) }
    return { protocol: chat, tasks, protocols }
  }
  if (pathname.endsWith('/models')) {
    const query = versionQuery(version ?? MODELS_API_VERSION)
    return withPaths(modelsCodec, (operation) => `/${operation}${query}`)
  }
  return deployments(pathname.endsWith('/openai') ? '' : '/openai', version ?? API_VERSION)
}

type Protocols = Pick<Provider, 'protocol' | 'protocols' | 'tasks'>

function deployments(prefix: string, version: string): Protocols {
  const query = versionQuery(version)
  return withPaths(
    codec,
    (operation, deployment) => `${prefix}/deployments/${encodeURIComponent(deployment)}/${operation}${query}`,
  )
}

function versionQuery(version: string): string {
  return `?api-version=${encodeURIComponent(version)}`
}

/** @param path Of an operation (`chat/completions`) and the deployment's name. */
function withPaths(chat: UpstreamProtocol, path: (operation: string, deployment: string) => string) {
  return {
    protocol: withPath(chat, (deployment) => path('chat/completions', deployment)),
    tasks: { embedding: withPath(embeddingCodec, (deployment) => path('embeddings', deployment)) },
  }
}

/** @param path Of the deployment's name. */
function withPath(protocol: UpstreamProtocol, path: (deployment: string) => string): UpstreamProtocol {
  return {
    ...protocol,
    renderRequest: (request, target) => ({ ...protocol.renderRequest(request, target), path: path(target.model) }),
  }
}
