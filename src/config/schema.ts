/**
 * The schema of the configuration, from which type, validation, JSON Schema and the check of `docs/configuration.md` are
 * derived. Names are those of the file. Knows no file, environment or provider.
 */
import { type Static, type TSchema, Type } from 'typebox'
import type { StoredKind } from '../domain/stored-setting.ts'
import { count, secret, section, text } from './leaf-schemas.ts'
import type { OtelSettings } from './otel-variables.ts'
import { FILE_SUFFIX, isSecretText } from './secret.ts'
import {
  ACCOUNTS_SCHEMA,
  AGENTS_SCHEMA,
  ALERTS_SCHEMA,
  AUTH_SCHEMA,
  CATALOGUE_SCHEMA,
  CONTENT_CAPTURE_SCHEMA,
  GUARDRAILS_SCHEMA,
  INVOICES_SCHEMA,
  LEDGER_SCHEMA,
  LOG_SCHEMA,
  PLAN_SCHEMA,
  RESPONSES_SCHEMA,
  SERVER_SCHEMA,
  STREAMS_SCHEMA,
  STRIPE_SCHEMA,
  TELEMETRY_SCHEMA,
  USAGE_SCHEMA,
  WEBHOOKS_SCHEMA,
} from './service-schemas.ts'
import {
  MODEL_SCHEMA,
  NAME_PATTERN,
  PROVIDER_SCHEMA,
  ROUTING_SCHEMA,
  VIRTUAL_MODEL_SCHEMA,
} from './upstream-schemas.ts'
import type { SchemaNode } from './validate.ts'

const EXPORT_SCHEMA = section(
  {
    name: text('Its name in metrics and in the database; under another name it begins again.', 'name'),
    url: text('Where the files go: a bucket with an optional prefix, or a folder.', 'export-url'),
    endpoint: Type.Optional(
      text('Address of other S3-compatible storage, such as MinIO, R2 or GCS. Not set: AWS.', 'http-url'),
    ),
    region: Type.Optional(text('Region that requests are signed for. Not set: `AWS_REGION`, else us-east-1.', 'name')),
    access_key_id: Type.Optional(
      text("Access key. Not set: the machine's own credentials, as AWS's tools find them.", 'credential'),
    ),
    secret_access_key: Type.Optional(secret('Secret of the access key.')),
    every_minutes: count('Time between two runs, in minutes.', { maximum: 1_440, default: 15 }),
  },
  { description: 'One export of completions.' },
)

const CONFIG_SCHEMA = Type.Object(
  {
    data_dir: Type.String({
      format: 'text',
      default: './turnpike-data',
      description:
        "Folder of the SQLite database, of secrets created on first start, and of agents' workspaces; relative to the working directory.",
    }),
    log_level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      default: 'info',
      description: 'Minimum level of logged messages.',
    }),
    log: LOG_SCHEMA,
    secret: Type.Optional(
      secret(
        'At least 32 bytes, from which the signing keys are derived; required with Postgres. Not set: created on first start in the data directory.',
        'secret',
      ),
    ),
    secret_previous: Type.Optional(
      secret('The previous secret during a change: its sessions stay valid. Not set: none.', 'secret'),
    ),
    database_url: Type.Optional(
      secret('Address of a Postgres database. Not set: SQLite in the data directory.', 'postgres-url'),
    ),
    redis_url: Type.Optional(
      secret('Address of a Valkey or Redis server for shared rate limits. Not set: in this process.', 'redis-url'),
    ),
    server: SERVER_SCHEMA,
    providers: Type.Record(Type.String({ pattern: NAME_PATTERN }), PROVIDER_SCHEMA, {
      default: {},
      description: 'Providers of models, by name.',
    }),
    models: Type.Array(MODEL_SCHEMA, { default: [], description: 'Adds to and overrides the built-in catalogue.' }),
    virtual_models: Type.Array(VIRTUAL_MODEL_SCHEMA, {
      default: [],
      description: 'IDs that stand for several models.',
    }),
    routing: ROUTING_SCHEMA,
    plans: Type.Record(Type.String({ pattern: NAME_PATTERN }), PLAN_SCHEMA, {
      default: {},
      description: 'Limits and credit of accounts, by name, beside the built-in `free`, `pro` and `unlimited`.',
    }),
    ledger: LEDGER_SCHEMA,
    streams: STREAMS_SCHEMA,
    responses: RESPONSES_SCHEMA,
    usage: USAGE_SCHEMA,
    catalogue: CATALOGUE_SCHEMA,
    accounts: ACCOUNTS_SCHEMA,
    auth: AUTH_SCHEMA,
    webhooks: WEBHOOKS_SCHEMA,
    alerts: ALERTS_SCHEMA,
    stripe: STRIPE_SCHEMA,
    telemetry: TELEMETRY_SCHEMA,
    exports: Type.Array(EXPORT_SCHEMA, { default: [], description: 'Exports of completions as Parquet files.' }),
    invoices: INVOICES_SCHEMA,
    guardrails: GUARDRAILS_SCHEMA,
    content_capture: CONTENT_CAPTURE_SCHEMA,
    agents: AGENTS_SCHEMA,
  },
  { additionalProperties: false, description: 'Configuration of Turnpike.' },
)

/** The same, for code that traverses it. */
export const CONFIG_SCHEMA_TREE: SchemaNode = CONFIG_SCHEMA

type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
    : Value

/** A file with its defaults filled in; plans are not merged yet. */
export type FileConfig = DeepReadonly<Static<typeof CONFIG_SCHEMA>>

export type ProviderConfig = FileConfig['providers'][string]

/** A plan in force. Absent: no limit. */
interface PlanConfig {
  readonly monthly_credit_usd?: number
  /** USD that `credit_remaining_usd` shows where nothing limits the account; absent: `monthly_credit_usd`, else 1000000. */
  readonly unlimited_credit_usd?: number
  readonly max_overrun_usd?: number
  /** Absent: 0. */
  readonly byok_fee_percent?: number
  /** Absent: 0. */
  readonly markup_percent?: number
  /** Absent: 0. */
  readonly request_fee_usd?: number
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly max_in_flight: number
  readonly billing: 'prepaid' | 'postpaid'
}

interface ServerConfig extends Omit<FileConfig['server'], 'public_url'> {
  /** Without trailing slash. */
  readonly public_url: string
}

/** The whole configuration, deeply frozen. Paths are absolute, URLs without trailing slash. */
export interface Config extends Omit<FileConfig, 'server' | 'plans'> {
  readonly server: ServerConfig
  /** Built-in plans included. */
  readonly plans: Readonly<Record<string, PlanConfig>>
  /** The standard variables of OpenTelemetry. */
  readonly otel: OtelSettings
  /** Absent: no file was read. */
  readonly file?: string
  /** Position, variable or flag of each setting that is not a default, by its path. */
  readonly origins: Readonly<Record<string, string>>
}

/** Sections that a reload applies; others need a restart. */
export const RELOADABLE = [
  'providers',
  'models',
  'virtual_models',
  'plans',
  'routing',
  'responses',
  'usage',
  'invoices',
] as const

/** The JSON Schema (2020-12) of the configuration file, for editors: settings with a default are optional. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Turnpike',
    ...forEditors(CONFIG_SCHEMA_TREE),
  }
}

/** JSON Schemas of one entry of `models` or `providers`, as bodies of the API: its name is in the path. */
export const ENTRY_SCHEMAS: Readonly<Record<StoredKind, TSchema>> = {
  model: entrySchema(MODEL_SCHEMA, 'id'),
  provider: entrySchema(PROVIDER_SCHEMA),
}

function entrySchema(schema: SchemaNode, nameOfEntry?: string): TSchema {
  const {
    properties,
    required = [],
    ...rest
  } = forEditors(schema, false) as { properties: object; required?: string[] }
  const others = Object.entries(properties).filter(([name]) => name !== nameOfEntry)
  const effectiveFrom = {
    type: 'string',
    format: 'date-time',
    description: 'When the change takes effect (UTC). Not set: at once.',
  }
  return {
    ...rest,
    properties: { ...Object.fromEntries(others), effective_from: effectiveFrom },
    required: required.filter((name) => name !== nameOfEntry),
  } as TSchema
}

/**
 * @param isFile Whether texts with references to the environment may stand for numbers and switches. In the API, null means
 *   "not set", and Ajv knows no defaults within lists.
 */
function forEditors(schema: SchemaNode, isFile = true): Record<string, unknown> {
  const { format, required, properties, patternProperties, items, anyOf, default: standard, ...rest } = schema
  const map = (schemas: Readonly<Record<string, SchemaNode>>, isNullable = (_name: string) => false) =>
    Object.fromEntries(
      Object.entries(schemas).map(([name, each]) => {
        const shown = forEditors(each, isFile)
        return [name, isNullable(name) ? { anyOf: [shown, { type: 'null' }] } : shown]
      }),
    )
  const mayBeNull = (name: string) => !isFile && required?.includes(name) !== true
  const result: Record<string, unknown> = {
    ...rest,
    ...(isFile && standard !== undefined && { default: standard }),
    ...(properties === undefined
      ? {}
      : { properties: { ...map(properties, mayBeNull), ...(isFile && secretFiles(properties)) } }),
    ...(patternProperties === undefined
      ? {}
      : { patternProperties: map(patternProperties), additionalProperties: false }),
    ...(items === undefined ? {} : { items: forEditors(items, isFile) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((each) => forEditors(each, isFile)) }),
  }
  const needed = required?.filter((name) => properties?.[name]?.default === undefined) ?? []
  if (needed.length > 0) result['required'] = needed
  return isFile && isFilledFromText(schema) ? withReference(result) : result
}

/** Secrets may be in files: `api_key_file` in place of `api_key`. */
function secretFiles(properties: Readonly<Record<string, SchemaNode>>): Record<string, unknown> {
  const secrets = Object.entries(properties).filter(([, each]) => isSecretText(each))
  return Object.fromEntries(
    secrets.map(([name]) => [name + FILE_SUFFIX, { type: 'string', description: `Path of a file with ${name}.` }]),
  )
}

/** Numbers and switches may also be written as references to the environment. */
function withReference({ description, default: standard, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const outer = {
    ...(description === undefined ? {} : { description }),
    ...(standard === undefined ? {} : { default: standard }),
  }
  return { ...outer, anyOf: [rest, { type: 'string', pattern: '\\$\\{' }] }
}

function isFilledFromText(schema: SchemaNode): boolean {
  return schema.enum !== undefined || ['integer', 'number', 'boolean'].includes(schema.type ?? '')
}

const STANDARD = { max_in_flight: 500, billing: 'prepaid' } as const

/** Built-in plans. */
export const BUILT_IN_PLANS = {
  free: {
    ...STANDARD,
    monthly_credit_usd: 5,
    requests_per_minute: 20,
    tokens_per_minute: 40_000,
    max_in_flight: 8,
  },
  pro: { ...STANDARD, requests_per_minute: 600, tokens_per_minute: 1_000_000 },
  unlimited: { ...STANDARD, requests_per_minute: 6_000, max_in_flight: 5_000, billing: 'postpaid' },
} as const satisfies Readonly<Record<string, PlanConfig>>

/** The built-in plans under the file's, field by field. The result has no prototype. */
export function mergePlans(file: FileConfig['plans']): Readonly<Record<string, PlanConfig>> {
  const merged: Record<string, PlanConfig> = Object.assign(Object.create(null), BUILT_IN_PLANS)
  for (const [name, plan] of Object.entries(file)) merged[name] = { ...STANDARD, ...merged[name], ...plan }
  return merged
}
