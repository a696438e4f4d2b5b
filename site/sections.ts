/** The structure of the documentation site, for its sidebar and for `llms.txt`. Pages are named as in `docs/`. */
export interface Section {
  readonly text: string
  /** Whether the sidebar shows it folded at first. */
  readonly isFolded?: boolean
  /** The summary is for `llms.txt`; by default it is the first sentence of the page. */
  readonly pages: readonly (readonly [text: string, page: string, summary?: string])[]
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
      ['OpenCode', 'clients/opencode', 'Settings of OpenCode for a gateway, written by `turnpike setup opencode`.'],
      ['aider', 'clients/aider', 'Settings of aider for a gateway, written by `turnpike setup aider`.'],
      ['Cursor', 'clients/cursor', 'Settings of the editor Cursor for a gateway.'],
      ['Continue', 'clients/continue', 'Settings of Continue, in editors and on the command line, for a gateway.'],
      ['Cline', 'clients/cline', 'Settings of Cline, in editors and on the command line, for a gateway.'],
      ['OpenAI SDKs', 'clients/openai-sdks', 'Base URL and key of the OpenAI SDKs for Python and JavaScript.'],
      ['Anthropic SDKs', 'clients/anthropic-sdks', 'Base URL and key of the Anthropic SDKs for Python and JavaScript.'],
      ['AI SDK', 'clients/ai-sdk', 'Providers of the AI SDK that reach a gateway, with their base URLs.'],
      [
        'OpenRouter’s SDKs',
        'clients/openrouter',
        'Base URL and key of the SDKs of OpenRouter, whose requests keep their bodies.',
      ],
      ['LangChain', 'clients/langchain', 'Chat models of LangChain on a gateway.'],
      ['LlamaIndex', 'clients/llamaindex', 'Models of LlamaIndex on a gateway.'],
      ['pydantic-ai', 'clients/pydantic-ai', 'Models of pydantic-ai on a gateway.'],
      ['llm', 'clients/llm', 'Models of a gateway in the command-line program `llm`.'],
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
      ['Exports', 'exports'],
      ['Idempotency keys', 'idempotency'],
      ['The simulator', 'simulator'],
      ['Migrate to Turnpike', 'migrating'],
    ],
  },
  {
    text: 'Deploy',
    pages: [
      ['Overview', 'deploy/', 'Every way to deploy the gateway, with its files and its page.'],
      [
        'Docker',
        'deploy/docker',
        'The container image: one container with SQLite, or Compose with PostgreSQL and Valkey.',
      ],
      ['Kubernetes', 'deploy/kubernetes'],
      ['systemd', 'deploy/systemd', 'The gateway as a service of systemd, with its user, data and settings.'],
      [
        'nginx, Caddy, HAProxy, Envoy',
        'deploy/proxies',
        'Configurations of reverse proxies in front of the gateway: what each sets, and why.',
      ],
      ['Upgrades and backups', 'deploy/upgrades', 'Upgrades, downgrades, and backups of PostgreSQL.'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      [
        'HTTP API',
        'api/',
        'Every endpoint with its parameters, answers and error codes, as an OpenAPI 3.1 description.',
      ],
      ['Configuration', 'configuration'],
      ['Command line', 'command-line'],
      ['Errors', 'errors'],
      ['Headers', 'headers'],
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
      [
        'Report a vulnerability',
        'security-policy',
        'How to report a vulnerability in private, and which versions are supported.',
      ],
    ],
  },
  {
    text: 'Contributing',
    isFolded: true,
    pages: [
      ['How to contribute', 'contributing', 'How to build, test and change Turnpike, with a tour of its folders.'],
      ['Decisions', 'decisions/'],
      [
        'Requirements by ID',
        'requirements',
        'Every requirement and fault by the ID that comments and test titles use.',
      ],
      ['Releasing', 'releasing', 'The steps of a release.'],
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
