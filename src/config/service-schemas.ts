/** Settings of the service that Turnpike itself gives: its listener, sign-in, accounts, webhooks, agents. */
import { Type } from 'typebox'
import { count, defaultedSection, fee, flag, milliseconds, port, secret, section, text, usd } from './leaf-schemas.ts'

export const SERVER_SCHEMA = defaultedSection(
  {
    host: Type.String({ format: 'host', default: '127.0.0.1', description: 'Address to listen on.' }),
    port: port('Port to listen on; 0 takes a free one.', { default: 7575 }),
    processes: Type.Union([count('Processes.', { maximum: 64 }), Type.Enum(['auto'])], {
      default: 1,
      description: 'Processes that share the port; `auto`: one for each core.',
    }),
    public_url: Type.Optional(
      text(
        'Address in links, in OAuth metadata and in `verification_uri`. Not set: `http://localhost:` (with `tls`: `https://localhost:`) and the port.',
        'http-url',
      ),
    ),
    trust_proxy: Type.Array(text('Addresses in CIDR notation.', 'cidr'), {
      default: [],
      description: 'Proxies whose `X-Forwarded-For` is trusted, as addresses or CIDR ranges.',
    }),
    body_limit_bytes: count('Largest request body, in bytes.', {
      minimum: 1_024,
      maximum: 1_073_741_824,
      default: 33_554_432,
    }),
    drain_ms: milliseconds('How long running requests may take to end after SIGTERM, in milliseconds.', 600_000),
    drain_delay_ms: milliseconds('How long the listener stays open after SIGTERM, in milliseconds.', 0),
    cors_origins: Type.Array(text('An origin.', 'origin'), {
      default: [],
      description: 'Origins whose browsers may call the API; `*`: all.',
    }),
    metrics_port: Type.Optional(
      port(
        "Separate port for `/metrics`, without a key; with several `processes` that of the first, and the next ones after it. Not set: the port of the service, with an operator's key.",
      ),
    ),
    tls: Type.Optional(
      section(
        {
          cert_file: text('PEM file with the certificate and its chain.'),
          key_file: text('PEM file with the private key.'),
        },
        { description: 'Certificate for HTTPS and HTTP/2. Not set: HTTP.' },
      ),
    ),
    metrics_open: flag("Whether peers on this machine need no key for `/metrics` on the service's port.", false),
  },
  { description: 'Where and how the service listens.' },
)

/** Ten times the price. */
const MOST_MARKUP_PERCENT = 900

/** `billing` is left open here, since built-in plans bring their own. */
export const PLAN_SCHEMA = section(
  {
    monthly_credit_usd: Type.Optional(usd('USD of credit granted each month. Not set: none.')),
    unlimited_credit_usd: Type.Optional(
      usd(
        'USD that `credit_remaining_usd` shows for accounts without a limit. Not set: `monthly_credit_usd`, and 1000000 without it.',
      ),
    ),
    max_overrun_usd: Type.Optional(
      usd(
        'USD that a balance may fall below zero where a provider reported more usage than was held. Not set: the larger of 0.05 and 1 % of `monthly_credit_usd`.',
      ),
    ),
    byok_fee_percent: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description:
          "Percent of the price that is charged for requests with an account's own provider credentials. Not set: 0.",
      }),
    ),
    markup_percent: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: MOST_MARKUP_PERCENT,
        description: 'Percent that is added to the prices of models; at most 4 decimals. Not set: 0.',
      }),
    ),
    request_fee_usd: Type.Optional(
      fee('USD that is charged for each call of a provider, besides the price; at most 9 decimals. Not set: 0.'),
    ),
    requests_per_minute: Type.Optional(count('Requests a minute. Not set: no limit.')),
    tokens_per_minute: Type.Optional(count('Tokens a minute. Not set: no limit.')),
    max_in_flight: Type.Optional(count('Requests at once. Not set: 500.')),
    billing: Type.Optional(
      Type.Enum(['prepaid', 'postpaid'], { description: 'Paid before or after use. Not set: prepaid.' }),
    ),
  },
  { description: 'One plan: its own, or overriding fields of a built-in one.' },
)

export const LEDGER_SCHEMA = defaultedSection(
  {
    outage_exposure_usd: usd('USD that an account may spend while the database is unavailable; 0: none.', {
      default: 0,
    }),
  },
  { description: 'Credit.' },
)

export const STREAMS_SCHEMA = defaultedSection(
  {
    keep_ms: milliseconds('How long an ended stream can be resumed, in milliseconds.', 600_000),
    grace_ms: milliseconds('How long a stream runs on without its client, in milliseconds.', 15_000),
  },
  { description: 'Streams that can be resumed.' },
)

export const RESPONSES_SCHEMA = defaultedSection(
  {
    store: flag('Whether responses of the Responses API are stored for `previous_response_id`.', false),
    retention_days: count('How long a stored response is kept, in days.', { maximum: 3_650, default: 30 }),
    max_bytes: count('Largest response that is stored, with the input of its request, in bytes.', {
      minimum: 1_024,
      maximum: 67_108_864,
      default: 4_194_304,
    }),
    max_account_bytes: count('Most that an account stores, in bytes: its oldest responses make room for new ones.', {
      minimum: 1_048_576,
      maximum: 1_099_511_627_776,
      default: 1_073_741_824,
    }),
  },
  { description: 'Stored responses.' },
)

export const USAGE_SCHEMA = defaultedSection(
  {
    max_tag_values: count(
      'Values of a tag, and of sessions and end users, that reports tell apart for an account in a month; later ones are one group.',
      { minimum: 10_000, maximum: 10_000_000, default: 100_000 },
    ),
  },
  { description: 'Reports of usage.' },
)

export const CONTENT_CAPTURE_SCHEMA = defaultedSection(
  {
    allow: flag('Whether accounts may have the prompts and answers of their requests stored.', false),
    retention_days: count('The longest that they are kept, in days.', { maximum: 3_650, default: 30 }),
    max_bytes: count('Largest prompt and answer that are stored, together, in bytes.', {
      minimum: 1_024,
      maximum: 67_108_864,
      default: 1_048_576,
    }),
    max_account_bytes: count('Most that an account stores, in bytes: its oldest make room for new ones.', {
      minimum: 1_048_576,
      maximum: 1_099_511_627_776,
      default: 1_073_741_824,
    }),
  },
  { description: 'Prompts and answers that accounts have stored.' },
)

export const CATALOGUE_SCHEMA = defaultedSection(
  {
    url: Type.Optional(
      text('Address of a published catalogue, for `turnpike catalogue pull`. Not set: none.', 'http-url'),
    ),
    public_key: Type.Optional(
      text(
        'Ed25519 key of its publisher, 32 bytes in base64. Not set: that of the release, if it has one.',
        'ed25519-key',
      ),
    ),
    pull_every_hours: Type.Optional(
      count('How often the gateway pulls it by itself, in hours. Not set: never.', { maximum: 8_760 }),
    ),
  },
  { description: 'Published catalogue of models and prices.' },
)

export const ACCOUNTS_SCHEMA = defaultedSection(
  {
    default_plan: Type.String({
      format: 'text',
      default: 'unlimited',
      description: 'Plan of the account created on first start, and of accounts created without a plan.',
    }),
    max_keys: count('Maximum API keys of an account. Operators may create more.', { default: 1_000 }),
  },
  { description: 'Accounts.' },
)

const identityProvider = section(
  {
    kind: Type.Enum(['oidc', 'github'], { description: 'Protocol.' }),
    name: text('Shown on the sign-in button; its letters and digits are in the redirect URI.'),
    issuer: Type.Optional(
      text(
        'Address of the issuer, exactly as in its metadata; required with `oidc`. With `github`: of an Enterprise server. `http://` only on loopback.',
        'issuer',
      ),
    ),
    client_id: text('ID of the registration of Turnpike.'),
    client_secret: secret('Secret of that registration.'),
    allowed_domains: Type.Array(text('A domain.', 'domain'), {
      default: [],
      description:
        'Domains whose verified e-mail addresses may sign in. Empty: all. Required where anyone can create an account (GitHub, …); `*`: everyone.',
    }),
    groups_claim: Type.Optional(
      text(
        'Claim with the groups of a person, such as `groups`, for the kind oidc. Group mappings apply to them at each sign-in. Not set: none.',
      ),
    ),
    scim_accounts: Type.Array(text('An account ID.'), {
      default: [],
      description:
        'Accounts whose people this provider vouches for: those provisioned by SCIM sign in with it for the first time, and group mappings apply to its `groups_claim`. Empty: the only account of the installation.',
    }),
  },
  { description: 'One identity provider.' },
)

const client = section(
  { id: text('ID that the client sends.'), name: text('Shown to the person who approves.') },
  { description: 'One client of the device flow.' },
)

export const AUTH_SCHEMA = defaultedSection(
  {
    providers: Type.Array(identityProvider, { default: [], description: 'Identity providers of the dashboard.' }),
    clients: Type.Array(client, {
      default: [],
      description: 'Clients of the device flow, beside the built-in `turnpike-cli` and `turnpike-ide`.',
    }),
  },
  { description: 'Sign-in.' },
)

export const LOG_SCHEMA = defaultedSection(
  {
    format: Type.Enum(['json', 'ecs'], {
      default: 'json',
      description:
        'Names of the fields on stdout: `json`, as documented, or `ecs`, those of the Elastic Common Schema.',
    }),
    sample: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'Share of the completed requests that get a `completion` line; others always have one.',
    }),
  },
  { description: 'The log.' },
)

export const TELEMETRY_SCHEMA = defaultedSection(
  {
    otlp_endpoint: Type.Optional(
      text(
        'Address of an OpenTelemetry receiver (OTLP over HTTP), to which traces and metrics are exported. Not set: no export.',
        'http-url',
      ),
    ),
    accept_context: flag("Whether a client's `traceparent` continues its trace.", true),
    propagate: flag('Whether providers receive `traceparent`, `tracestate` and `baggage`.', false),
    allow_private_networks: flag(
      'Also send traces of accounts to http addresses, any port, private and loopback networks.',
      false,
    ),
  },
  { description: 'Export of traces and metrics.' },
)

export const WEBHOOKS_SCHEMA = defaultedSection(
  { allow_private_networks: flag('Also deliver to http addresses, any port, private and loopback networks.', false) },
  { description: 'Webhooks.' },
)

export const STRIPE_SCHEMA = defaultedSection(
  {
    secret_key: Type.Optional(secret('Secret key of an account at Stripe. Not set: no payments.')),
    webhook_secret: Type.Optional(
      secret('Signing secret of the endpoint `/stripe/webhook` at Stripe; required with `secret_key`.'),
    ),
    api_url: Type.Optional(
      text("Address of another server with Stripe's API, for tests. Not set: Stripe's.", 'http-url'),
    ),
  },
  { description: 'Payments.' },
)

const smtp = section(
  {
    host: Type.String({ format: 'host', description: 'Name or address of the mail server.' }),
    port: port('Its port.', { default: 587 }),
    security: Type.Enum(['starttls', 'tls', 'none'], {
      default: 'starttls',
      description:
        'How the connection is encrypted; `starttls` refuses a server without it. `none` only on a trusted network.',
    }),
    user: Type.Optional(text('Name to authenticate with. Not set: no authentication.')),
    password: Type.Optional(secret('Password of `user`.')),
    from: text('Address of the sender, such as `turnpike@example.com`.', 'email'),
  },
  { description: 'Mail server for alerts. Not set: no e-mail.' },
)

export const ALERTS_SCHEMA = defaultedSection(
  {
    smtp: Type.Optional(smtp),
    recipient_domains: Type.Array(text('A domain.', 'domain'), {
      default: [],
      description:
        'Domains whose addresses receive alerts by e-mail, beside the members of an account. Empty: members only; `*`: all.',
    }),
  },
  { description: 'Alerts by e-mail.' },
)

const TAXES = Type.Array(
  section(
    {
      name: text('Name of the tax, such as `VAT`.'),
      percent: Type.Number({ minimum: 0, maximum: 100, description: 'Percent of the subtotal, at most 4 decimals.' }),
    },
    { description: 'One tax.' },
  ),
  { maxItems: 10, description: 'Taxes on the subtotal of invoices, one line each.' },
)
const PARTY = {
  address: Type.Optional(Type.Array(text('A line.'), { maxItems: 10, description: 'Lines of the address.' })),
  tax_id: Type.Optional(text('Tax number.')),
}

export const INVOICES_SCHEMA = defaultedSection(
  {
    seller: Type.Optional(section({ name: text('Name of who bills.'), ...PARTY }, { description: 'Who bills.' })),
    taxes: { ...TAXES, default: [] },
    buyers: Type.Record(
      Type.String({ pattern: '^acc_[0-9A-Za-z]{1,60}$' }),
      section(
        { name: Type.Optional(text('Name. Not set: that of the account.')), ...PARTY, taxes: Type.Optional(TAXES) },
        { description: 'One account that is billed; its `taxes` replace those of all invoices.' },
      ),
      { default: {}, description: 'Who is billed, by the ID of the account.' },
    ),
  },
  { description: 'What invoices say besides the charges. It applies to invoices that are closed from then on.' },
)

export const GUARDRAILS_SCHEMA = defaultedSection(
  {
    allow_private_networks: Type.Optional(
      Type.Boolean({ description: 'Also call hooks in private and loopback networks. Default: as for webhooks.' }),
    ),
  },
  { description: 'Guardrails.' },
)

const gitCredential = section(
  {
    accounts: Type.Array(text('An account ID.'), { minItems: 1, description: 'Accounts whose agents may use it.' }),
    repositories: Type.Array(text('A pattern.'), {
      minItems: 1,
      description: 'Repositories it is for, as `organisation/repository`; `*` stands for anything.',
    }),
    token: secret('Token for git over https.'),
  },
  { description: 'One credential for repositories.' },
)

const sandbox = defaultedSection(
  {
    backend: Type.Enum(['bubblewrap', 'none'], {
      default: 'bubblewrap',
      description: "Isolation of agents' commands.",
    }),
    network: Type.Array(text('A host.'), {
      default: [],
      description: "Hosts that agents' commands may reach. Empty: none.",
    }),
  },
  { description: "Where agents' commands run." },
)

export const AGENTS_SCHEMA = defaultedSection(
  {
    git_url: Type.String({
      format: 'git-url',
      default: 'https://github.com/{repository}.git',
      description: 'Clone address; `{repository}` stands for `organisation/repository`.',
    }),
    git_provider: Type.Optional(
      Type.Enum(['github', 'gitlab'], {
        description:
          'What the host of `git_url` is, for links and pull requests. Default: by its name, as `github.com` and `gitlab.example.com`.',
      }),
    ),
    model: Type.Optional(text('Model of agents that name none.')),
    concurrency: count('Agents that run at once.', { maximum: 1_000, default: 2 }),
    allow_local_git: flag('Whether `git_url` may be `file://` or `http://`.', false),
    sandbox,
    git_credentials: Type.Array(gitCredential, { default: [], description: 'Credentials for repositories.' }),
  },
  { description: 'Agents.' },
)
