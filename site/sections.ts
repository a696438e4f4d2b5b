/** The structure of the documentation site, for its sidebar and for `llms.txt`. Pages are named as in `docs/`. */
export interface Section {
  readonly text: string
  /** Whether the sidebar shows it folded at first. */
  readonly isFolded?: boolean
  readonly pages: readonly (readonly [text: string, page: string])[]
}

export const SECTIONS: readonly Section[] = [
  {
    text: 'Start',
    pages: [
      ['Quick start', 'quick-start'],
      ['Concepts', 'concepts'],
      ['Glossary', 'glossary'],
    ],
  },
  {
    text: 'Clients',
    isFolded: true,
    pages: [
      ['All clients', 'clients/'],
      ['Claude Code', 'clients/claude-code'],
      ['Codex', 'clients/codex'],
      ['OpenCode', 'clients/opencode'],
      ['aider', 'clients/aider'],
      ['Cursor, Continue, Cline', 'clients/editors'],
      ['OpenAI SDKs', 'clients/openai-sdks'],
      ['Anthropic SDKs', 'clients/anthropic-sdks'],
      ['AI SDK', 'clients/ai-sdk'],
      ['OpenRouter’s SDKs', 'clients/openrouter'],
      ['LangChain', 'clients/langchain'],
      ['LlamaIndex', 'clients/llamaindex'],
      ['pydantic-ai', 'clients/pydantic-ai'],
      ['llm', 'clients/llm'],
    ],
  },
  {
    text: 'Guides',
    pages: [
      ['Providers', 'providers'],
      ['Routing and fallback', 'routing'],
      ['Budgets', 'budgets'],
      ['Teams', 'teams'],
      ['API keys', 'keys'],
      ['Bring your own key', 'provider-credentials'],
      ['Guardrails', 'guardrails'],
      ['Content capture', 'content-capture'],
      ['Webhooks', 'webhooks'],
      ['Agents', 'agents'],
      ['Observability', 'observability'],
      ['Sign-in', 'sign-in'],
      ['Members and rights', 'members'],
      ['SCIM', 'scim'],
      ['Connected devices', 'devices'],
      ['Cost attribution', 'chargeback'],
      ['Idempotency keys', 'idempotency'],
      ['The simulator', 'simulator'],
      ['Migrate to Turnpike', 'migrating'],
    ],
  },
  {
    text: 'Deploy',
    pages: [
      ['Overview', 'deploy/'],
      ['Docker', 'deploy/docker'],
      ['Kubernetes', 'deploy/kubernetes'],
      ['systemd', 'deploy/systemd'],
      ['nginx, Caddy, HAProxy, Envoy', 'deploy/proxies'],
      ['Upgrades and backups', 'deploy/upgrades'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['HTTP API', 'api/'],
      ['Configuration', 'configuration'],
      ['Command line', 'command-line'],
      ['Errors', 'errors'],
      ['Limits', 'limits'],
      ['Models', 'models'],
      ['Prices', 'prices'],
      ['Chat completions', 'compatibility'],
      ['Messages API', 'messages'],
      ['Responses API', 'responses'],
      ['Embeddings and rerank', 'embeddings'],
      ['Usage', 'usage'],
      ['Dashboard', 'dashboard'],
    ],
  },
  {
    text: 'Operations',
    pages: [
      ['Operation', 'operations'],
      ['Scaling', 'scaling'],
      ['Benchmarks', 'benchmarks'],
      ['Service level objectives', 'slo'],
      ['Credit', 'credit'],
      ['Invoices', 'invoices'],
      ['Payments', 'payments'],
    ],
  },
  {
    text: 'Security',
    pages: [
      ['Security', 'security'],
      ['Report a vulnerability', 'security-policy'],
    ],
  },
  {
    text: 'Contributing',
    isFolded: true,
    pages: [
      ['How to contribute', 'contributing'],
      ['Decisions', 'decisions/'],
      ['Requirements by ID', 'requirements'],
      ['Releasing', 'releasing'],
      ['Changes', 'changelog'],
    ],
  },
]

const ROOT_PAGES: Readonly<Record<string, string>> = {
  'site/index.md': 'index.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security-policy.md',
  'CHANGELOG.md': 'changelog.md',
}

/** The page of a Markdown file of the repository, such as `clients/index.md`; undefined where the site has none. */
export function pageOf(source: string): string | undefined {
  if (!source.startsWith('docs/')) return ROOT_PAGES[source]
  return source.endsWith('.md') ? source.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md') : undefined
}
