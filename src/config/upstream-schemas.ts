/** Settings of what is behind the gateway: providers, models, routing. */
import { Type } from 'typebox'
import type { Capability } from '../domain/model.ts'
import { count, defaultedSection, milliseconds, secret, section, text } from './leaf-schemas.ts'
import { PRICING_SCHEMA } from './pricing-schemas.ts'

/** Names of providers and plans. */
export const NAME_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'

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
    kind: Type.Optional(text('Built-in provider whose dialect, address and variable this one takes.')),
    protocol: Type.Optional(
      Type.Enum(['openai', 'anthropic', 'gemini', 'bedrock', 'simulator'], {
        description: 'Dialect. Built-in providers have their own; others must name one.',
      }),
    ),
    base_url: Type.Optional(
      text('Address of the API. Built-in providers have their own; others must give one.', 'http-url'),
    ),
    api_key: Type.Optional(secret("Key. Without one, the provider's environment variable is used.")),
    api_keys: Type.Optional(
      Type.Array(secret('A key.'), { description: 'Several keys, over which calls are spread.', writeOnly: true }),
    ),
    region: Type.Optional(text('Region of a cloud whose address is made of it.')),
    project: Type.Optional(text('Project of a cloud that bills by project.')),
    api_version: Type.Optional(text('Version of the API, where the address has one.')),
    credentials_file: Type.Optional(text("File with the cloud's credentials. Not set: those of the machine.")),
    timeout_ms: timeouts,
    max_in_flight: Type.Optional(count('Most calls at once. Not set: no limit.')),
    forward_unknown: Type.Optional(
      Type.Boolean({
        description:
          'Send body fields that are not known as they are. Not set: true where `base_url` is outside the built-in hosts, whose documented fields alone are sent.',
      }),
    ),
    on_disconnect: Type.Enum(['cancel', 'drain'], {
      default: 'cancel',
      description: 'When the client goes away: cancel the call, or drain it to its exact usage.',
    }),
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
      description: 'Share of the calls among deployments of one priority.',
    }),
  },
  { description: 'One place where the model can be had.' },
)

const capabilities = section(
  {
    streaming: Type.Optional(Type.Boolean({ description: 'Can stream its answer.' })),
    function_calling: Type.Optional(Type.Boolean({ description: 'Can call tools.' })),
    vision: Type.Optional(Type.Boolean({ description: 'Can read images.' })),
    json_mode: Type.Optional(Type.Boolean({ description: 'Can answer in JSON alone.' })),
  } satisfies Record<Capability, unknown>,
  { description: 'What the model can do.' },
)

export const MODEL_SCHEMA = section(
  {
    id: text('ID that clients ask for. One of the catalogue: the fields given here override it.'),
    name: Type.Optional(text('Name shown to people.')),
    owned_by: Type.Optional(text('Shown to clients as the owner.')),
    aliases: Type.Optional(Type.Array(text('An ID.'), { description: 'Other IDs of the same model.' })),
    capabilities: Type.Optional(capabilities),
    context_window: Type.Optional(count('Most tokens of prompt and answer together.')),
    max_output_tokens: Type.Optional(
      Type.Union([count('Most tokens of one answer.'), Type.Null()], {
        description: 'Most tokens of one answer; null: not known.',
      }),
    ),
    pricing: Type.Optional(
      Type.Union([PRICING_SCHEMA, Type.Null()], {
        description:
          'Price, replacing that of the catalogue as a whole; docs/prices.md has the rules. null: not known, and then the model may not be called.',
      }),
    ),
    deprecation_date: Type.Optional(text('Day on which the model goes away.', 'date')),
    deployments: Type.Optional(
      Type.Array(deployment, {
        minItems: 1,
        description: 'Where it can be had: by priority, lowest first, and spread by weight within one.',
      }),
    ),
  },
  { description: "One model: added to the built-in catalogue, or overriding one of the catalogue's." },
)

export const ROUTING_SCHEMA = defaultedSection(
  {
    max_attempts: count('Most calls to providers for one request.', { maximum: 10, default: 3 }),
    retry_budget: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0.2,
      description: 'Most repeats, as a share of the requests.',
    }),
    breaker: defaultedSection(
      {
        failures: count('Failures in a row after which a deployment is left alone.', { maximum: 1_000, default: 5 }),
        open_ms: milliseconds('How long it is left alone, in milliseconds.', 30_000),
      },
      { description: 'Keeps requests away from deployments that fail.' },
    ),
  },
  { description: 'Retries and fallbacks.' },
)
