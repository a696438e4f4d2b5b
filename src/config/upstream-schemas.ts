/** Settings of what is behind the gateway: providers, models, routing. */
import { Type } from 'typebox'
import { type Capability, MODEL_KINDS, VIRTUAL_STICKINESS, VIRTUAL_STRATEGIES } from '../domain/model.ts'
import { count, defaultedSection, fee, milliseconds, secret, section, text, usd } from './leaf-schemas.ts'

/* Settings of a price: rates, what changes them, and fees. */

/** Names of service tiers and of tools, as providers write them. */
const NAME = Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' })

const rate = (description: string) => Type.Optional(usd(`USD per million ${description}`))

const INPUT = usd('USD per million prompt tokens.')
const OUTPUT = usd('USD per million completion tokens.')
/** Of every class but the two that each price has. */
const SELDOM_RATES = {
  cached_input_per_million: rate("prompt tokens read from the provider's cache. Not set: as input."),
  cache_write_per_million: rate("prompt tokens written to the provider's cache. Not set: as input."),
  cache_write_1h_per_million: rate('prompt tokens written to the cache for an hour. Not set: as cache_write.'),
  cache_write_12h_per_million: rate('prompt tokens written to the cache for 12 hours. Not set: as cache_write_1h.'),
  audio_input_per_million: rate('prompt tokens of audio. Not set: as input.'),
  cached_audio_input_per_million: rate('prompt tokens of audio read from the cache. Not set: as cached_input.'),
  audio_output_per_million: rate('completion tokens of audio. Not set: as output.'),
  image_output_per_million: rate('completion tokens of images. Not set: as output.'),
  reasoning_output_per_million: rate('completion tokens of reasoning. Not set: as output.'),
}
const OTHER_RATES = {
  input_per_million: Type.Optional(INPUT),
  output_per_million: Type.Optional(OUTPUT),
  ...SELDOM_RATES,
}

const TIERS = Type.Array(
  section(
    {
      above_prompt_tokens: count('What the prompt of one call, cached tokens included, has to exceed.', { minimum: 0 }),
      applies_to: Type.Enum(['request', 'excess'], {
        default: 'request',
        description: "What it prices: the whole request, or the prompt's tokens above the threshold and the output.",
      }),
      ...OTHER_RATES,
    },
    { description: 'One tier; rates that it does not set stay as below the threshold.' },
  ),
  { description: 'Rates of long prompts. The highest tier whose threshold the prompt exceeds applies.' },
)

const SERVICE_TIERS = Type.Record(
  NAME,
  section(
    { ...OTHER_RATES, tiers: Type.Optional(TIERS) },
    { description: "Rates of one service tier; what it does not set is as in the price, the price's tiers included." },
  ),
  { description: 'Rates by the service tier that the answer names, such as `flex` and `priority`.' },
)

const DISCOUNTS = Type.Array(
  section(
    {
      from: text('Time of day (UTC).', 'time-of-day'),
      until: text('Time of day (UTC), not included; before `from`: of the next day.', 'time-of-day'),
      ...OTHER_RATES,
    },
    { description: 'Rates at a time of day; those that it does not set are those of the price.' },
  ),
  { description: 'Rates by the time of day at which a request is admitted. The first that fits applies.' },
)

const TARIFF = {
  input_per_million: INPUT,
  output_per_million: OUTPUT,
  ...SELDOM_RATES,
  tiers: Type.Optional(TIERS),
  service_tiers: Type.Optional(SERVICE_TIERS),
  discounts: Type.Optional(DISCOUNTS),
  per_request_usd: Type.Optional(fee('USD for each call of a provider.')),
  per_image_usd: Type.Optional(fee('USD for each image in the request.')),
  server_tools: Type.Optional(
    Type.Record(NAME, usd('USD per 1,000 uses.'), {
      description: 'USD per 1,000 uses of a tool that the provider runs, such as `web_search`.',
    }),
  ),
  starts: Type.Optional(text('First day (UTC) of the price, or the moment at which it starts.', 'moment')),
  ends: Type.Optional(
    text('Last day (UTC) of the price, or the moment at which it ends. Not set: until its successor.', 'moment'),
  ),
}

const PRICING_SCHEMA = section(
  {
    ...TARIFF,
    successors: Type.Optional(
      Type.Array(section(TARIFF, { description: 'One price that is announced.' }), {
        description: 'Prices to come, in order; each starts at its `starts`, else when the one before it ends.',
      }),
    ),
  },
  { description: 'Price; null: not known, and the model cannot be called.' },
)

/** Names of providers and plans. */
export const NAME_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'
export const ALLOWED_NAMES = 'names of lower-case letters, digits, ".", "_" and "-", at most 64'

const timeouts = defaultedSection(
  {
    connect: milliseconds('Longest wait for a connection.', 5_000, 1),
    first_byte: Type.Optional(
      count('Longest wait for the first event of the answer. Not set: 60000 for streams, `total` for whole answers.', {
        maximum: 2_147_483_647,
      }),
    ),
    idle: milliseconds('Longest wait between two events of a stream.', 120_000, 1),
    total: milliseconds('Longest duration of the whole call.', 1_800_000, 1),
  },
  { description: 'Time-outs of calls, in milliseconds.' },
)

export const PROVIDER_SCHEMA = section(
  {
    kind: Type.Optional(text('Built-in provider whose protocol, address and variable this one uses.')),
    protocol: Type.Optional(
      Type.Enum(['openai', 'openai-responses', 'anthropic', 'gemini', 'bedrock', 'simulator'], {
        description: 'Wire protocol. Built-in providers have their own; others require it.',
      }),
    ),
    base_url: Type.Optional(
      text('Address of the API. Built-in providers have their own; others require it.', 'http-url'),
    ),
    api_key: Type.Optional(secret("Key. Without one, the provider's environment variable is used.")),
    api_keys: Type.Optional(
      Type.Array(secret('A key.'), { description: 'Several keys; calls are spread over them.', writeOnly: true }),
    ),
    region: Type.Optional(text('Region of a cloud provider, part of its address.')),
    project: Type.Optional(text('Project of a cloud that bills by project.')),
    api_version: Type.Optional(text('Version of the API, where the address has one.')),
    credentials_file: Type.Optional(text("File with the cloud's credentials. Not set: those of the machine.")),
    timeout_ms: timeouts,
    max_in_flight: Type.Optional(count('Maximum concurrent calls. Not set: no limit.')),
    weight: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        description: 'Factor on the weights of its deployments. Not set: 1.',
      }),
    ),
    disabled: Type.Optional(
      Type.Boolean({ description: 'true: it is not called, and models without another provider are not offered.' }),
    ),
    data_collection: Type.Optional(
      Type.Enum(['allow', 'deny'], {
        description:
          'Whether the provider may keep data to train on, by your agreement with it. Not set: as it publishes, in the catalogue; else not known, which counts as `allow`.',
      }),
    ),
    zdr: Type.Optional(
      Type.Boolean({
        description:
          'Zero data retention, by your agreement with it. Not set: as it publishes, in the catalogue; else not known.',
      }),
    ),
    forward_unknown: Type.Optional(
      Type.Boolean({
        description:
          'Forward unknown body fields. Not set: true where `base_url` is not a built-in host; built-in hosts get documented fields only.',
      }),
    ),
    on_disconnect: Type.Optional(
      Type.Enum(['cancel', 'drain'], {
        description:
          'When the client disconnects: cancel the call, or drain it for its exact usage. Not set: drain where the stream of the model may hide reasoning and the hold covers the whole answer, else cancel.',
      }),
    ),
  },
  { description: 'One provider; `{}` is enough for a built-in one.' },
)

const deployment = section(
  {
    provider: text('Name of a provider, configured or built in.'),
    model: text("The provider's own name of the model."),
    priority: count('Lowest is tried first.', { minimum: 0, maximum: 1_000, default: 0 }),
    weight: Type.Number({
      exclusiveMinimum: 0,
      maximum: 1_000_000,
      default: 1,
      description: 'Share of calls among deployments of the same priority.',
    }),
    data_collection: Type.Optional(
      Type.Enum(['allow', 'deny'], {
        description:
          'Whether the provider may keep data to train on. Not set: as `data_collection` of the provider, else not known, which counts as `allow`.',
      }),
    ),
    zdr: Type.Optional(
      Type.Boolean({ description: 'Zero data retention. Not set: as `zdr` of the provider, else not known.' }),
    ),
    region: Type.Optional(
      text(
        'Where the deployment runs, such as `eu`; what policies compare. Not set: the region of its address, of clouds that have regions; else not known.',
      ),
    ),
    protocol: Type.Optional(
      Type.Enum(['openai-responses', 'openai-auto'], {
        description:
          'Protocol for this model, where its provider has several: docs/providers.md, "Responses API". Not set: the usual one.',
      }),
    ),
  },
  { description: 'One provider of the model.' },
)

const capabilities = section(
  {
    streaming: Type.Optional(Type.Boolean({ description: 'Can stream its answer.' })),
    function_calling: Type.Optional(Type.Boolean({ description: 'Can call tools.' })),
    vision: Type.Optional(Type.Boolean({ description: 'Can read images.' })),
    json_mode: Type.Optional(Type.Boolean({ description: 'Can answer in JSON alone.' })),
    pdf: Type.Optional(
      Type.Boolean({ description: 'Can read PDF files. Not set: as in the catalogue, else its provider decides.' }),
    ),
    json_schema: Type.Optional(
      Type.Boolean({
        description: 'Can answer by a JSON schema. Not set: as in the catalogue, else its provider decides.',
      }),
    ),
  } satisfies Record<Capability | 'pdf' | 'json_schema', unknown>,
  { description: 'What the model can do.' },
)

export const MODEL_SCHEMA = section(
  {
    id: text('ID for clients. For an ID of the catalogue, the fields override those of the catalogue.'),
    name: Type.Optional(text('Name shown to people.')),
    owned_by: Type.Optional(text('Shown to clients as the owner.')),
    aliases: Type.Optional(Type.Array(text('An ID.'), { description: 'Other IDs of the same model.' })),
    kind: Type.Optional(
      Type.Enum([...MODEL_KINDS], {
        description: 'What its requests are, which decides the endpoint. Not set: as in the catalogue, else chat.',
      }),
    ),
    capabilities: Type.Optional(capabilities),
    context_window: Type.Optional(
      count('Maximum tokens of prompt and answer together; of embedding and rerank models, of each input.'),
    ),
    max_inputs: Type.Optional(count('Maximum inputs or documents of one request, of embedding and rerank models.')),
    max_output_tokens: Type.Optional(
      Type.Union([count('Most tokens of one answer.'), Type.Null()], {
        description: 'Most tokens of one answer; null: not known.',
      }),
    ),
    pricing: Type.Optional(
      Type.Union([PRICING_SCHEMA, Type.Null()], {
        description:
          'Price, replacing that of the catalogue as a whole; docs/prices.md has the rules. null: not known, and the model cannot be called.',
      }),
    ),
    deprecation_date: Type.Optional(
      text(
        'Day on which the model shuts down, reported in the headers `Sunset` and `Deprecation` of its responses.',
        'date',
      ),
    ),
    replacement: Type.Optional(text('ID of the model to use from that day on.')),
    fallbacks: Type.Optional(
      Type.Array(text('ID of a model.'), {
        maxItems: 10,
        description:
          'IDs of models that answer in its place, in order, where none of its providers can; docs/routing.md. A request that names `models` of its own does not use them.',
      }),
    ),
    deployments: Type.Optional(
      Type.Array(deployment, {
        minItems: 1,
        description: 'Providers of the model: by priority, lowest first, and spread by weight within a priority.',
      }),
    ),
  },
  { description: "One model: added to the built-in catalogue, or overriding one of the catalogue's." },
)

export const VIRTUAL_MODEL_SCHEMA = section(
  {
    id: text('ID for clients.'),
    name: Type.Optional(text('Name shown to people.')),
    candidates: Type.Array(
      section(
        {
          model: text('ID of a model.'),
          weight: Type.Number({
            minimum: 0,
            maximum: 1_000_000,
            default: 1,
            description: 'Share of requests, with the strategy `weighted`; 0: only where the others cannot answer.',
          }),
        },
        { description: 'One model.' },
      ),
      { minItems: 1, maxItems: 100, description: 'The models that may answer; docs/routing.md.' },
    ),
    strategy: Type.Enum([...VIRTUAL_STRATEGIES], {
      default: 'priority',
      description: 'Which of them is tried first; the others follow.',
    }),
    sticky: Type.Enum([...VIRTUAL_STICKINESS], {
      default: 'none',
      description: 'For what the model that answered is tried first again.',
    }),
  },
  { description: 'An ID that stands for several models.' },
)

const fallbackSwitch = (description: string) => Type.Boolean({ default: true, description })

export const ROUTING_SCHEMA = defaultedSection(
  {
    max_attempts: count('Maximum calls to providers for one request, at each model that may answer it.', {
      maximum: 10,
      default: 3,
    }),
    retry_budget: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0.2,
      description: 'Maximum retries, as a share of requests.',
    }),
    breaker: defaultedSection(
      {
        failures: count('Consecutive failures after which a deployment is not called.', { maximum: 1_000, default: 5 }),
        open_ms: milliseconds('How long the deployment is not called, in milliseconds.', 30_000),
      },
      { description: 'Circuit breaker of failing deployments.' },
    ),
    fallback_on: defaultedSection(
      {
        overloaded: fallbackSwitch('429, 503 and 529 of the provider, and a concurrency limit that is reached.'),
        server_error: fallbackSwitch('Other errors and unreadable answers of the provider.'),
        timeout: fallbackSwitch('Time-outs before the first event of the answer.'),
        connection: fallbackSwitch('Connections that fail or break before the first event of the answer.'),
        context_length: fallbackSwitch('A prompt that is longer than the context window.'),
        content_filter: fallbackSwitch('A prompt that the provider refuses for its content.'),
        unavailable: fallbackSwitch(
          'A refused credential, an account without money, an unknown model, an open circuit breaker.',
        ),
      },
      { description: 'Failures after which another model may answer: `fallbacks` of a model, `models` of a request.' },
    ),
    policies: Type.Array(
      section(
        {
          accounts: Type.Optional(Type.Array(text('ID of an account.'), { description: 'Only these accounts.' })),
          keys: Type.Optional(Type.Array(text('ID of a key.'), { description: 'Only these keys.' })),
          plans: Type.Optional(Type.Array(text('Name of a plan.'), { description: 'Only accounts of these plans.' })),
          data_collection: Type.Optional(
            Type.Enum(['allow', 'deny'], { description: 'deny: only deployments that do not keep data to train on.' }),
          ),
          zdr: Type.Optional(Type.Boolean({ description: 'true: only deployments with zero data retention.' })),
          regions: Type.Optional(
            Type.Array(text('A region.'), { minItems: 1, description: 'Only deployments in one of these regions.' }),
          ),
        },
        { description: 'One policy; without accounts, keys and plans it concerns everyone.' },
      ),
      {
        default: [],
        description: 'What every deployment that answers must fulfil; otherwise 403 `policy_not_satisfiable`.',
      },
    ),
  },
  { description: 'Retries and fallbacks.' },
)
