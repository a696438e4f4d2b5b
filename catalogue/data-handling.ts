import type { CatalogueDeployment, CatalogueEntry } from './entry.ts'

/**
 * What hosts publish about data that is sent to their API, without an agreement of the customer's own. It becomes a fact of
 * each deployment there, as long as the provider is called at its built-in address; what the operator says of a provider or
 * a deployment has precedence. What a host does not publish, or makes depend on the customer's plan, stays absent: not
 * known, so that no data policy is fulfilled by it.
 */
interface DataHandling {
  /** `deny`: nothing is used for training unless the customer opts in. */
  readonly data_collection?: 'deny'
  /** True: prompts and answers are not stored, for every customer. */
  readonly zdr?: true
  /** The host's own names of models to which `zdr` does not apply. */
  readonly retaining?: readonly string[]
  readonly source: { readonly url: string; readonly read: string }
}

const READ = '2026-11-24'

/**
 * Absent, with the reason: google (depends on whether the key is paid for), mistral (depends on the plan), groq, cerebras,
 * deepseek, moonshot, zai, alibaba, cohere, voyage (no statement found that holds for every key), openrouter and
 * huggingface (depends on the host that they choose).
 */
export const DATA_HANDLING: Readonly<Record<string, DataHandling>> = {
  // Zero retention by agreement.
  anthropic: {
    data_collection: 'deny',
    source: { url: 'https://privacy.anthropic.com/en/articles/7996868-is-my-data-used-for-model-training', read: READ },
  },
  // Logs of abuse monitoring are kept for up to 30 days; zero retention by approval.
  openai: {
    data_collection: 'deny',
    source: { url: 'https://developers.openai.com/api/docs/guides/your-data', read: READ },
  },
  // Google may log prompts for abuse monitoring, and caches for 24 hours, unless the customer ends both.
  vertex: {
    data_collection: 'deny',
    source: {
      url: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/resources/zero-data-retention',
      read: READ,
    },
  },
  // "There is no data retention change to Claude models released before Claude Fable 5"; the others may retain.
  bedrock: {
    data_collection: 'deny',
    zdr: true,
    retaining: ['global.anthropic.claude-fable-5', 'global.anthropic.claude-sonnet-5'],
    source: { url: 'https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html', read: READ },
  },
  // Requests are stored for 30 days unless the team has turned zero retention on.
  xai: {
    data_collection: 'deny',
    source: { url: 'https://docs.x.ai/developers/faq/security.md', read: READ },
  },
  perplexity: {
    data_collection: 'deny',
    zdr: true,
    source: { url: 'https://docs.perplexity.ai/docs/resources/privacy-security.md', read: READ },
  },
  // Of open models, which are all that the catalogue has there.
  fireworks: {
    data_collection: 'deny',
    zdr: true,
    source: { url: 'https://docs.fireworks.ai/guides/security_compliance/data_security.md', read: READ },
  },
  // Prompts are stored unless the organisation has turned that off; training is an opt-in.
  together: {
    data_collection: 'deny',
    source: { url: 'https://docs.together.ai/docs/zero-data-retention', read: READ },
  },
  // Runs within the gateway.
  simulator: { data_collection: 'deny', zdr: true, source: { url: 'docs/simulator.md', read: READ } },
}

/** The entries with the facts of their deployments; what an entry says itself stays. */
export function withDataHandling(entries: readonly CatalogueEntry[]): readonly CatalogueEntry[] {
  return entries.map((entry) => ({ ...entry, deployments: entry.deployments.map(withFacts) }))
}

function withFacts(deployment: CatalogueDeployment): CatalogueDeployment {
  const { data_collection, zdr, retaining } = DATA_HANDLING[deployment.provider] ?? {}
  const isRetained = retaining?.includes(deployment.model) === true
  return {
    ...(data_collection !== undefined && { data_collection }),
    ...(zdr === true && !isRetained && { zdr }),
    ...deployment,
  }
}
