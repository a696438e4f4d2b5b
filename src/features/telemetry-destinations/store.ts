/** Telemetry destinations: the services that they may be of, and their rows. */
import type { Kysely } from 'kysely'
import type { Database, TelemetryDestinationTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import type { AccountId, TelemetryDestinationId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'

export type DestinationRow = TelemetryDestinationTable

export interface DestinationReference {
  readonly accountId: AccountId
  readonly id: TelemetryDestinationId
}

/** What its secrets are sealed for: they open for no other account or destination. */
export function placeOf({ account_id: accountId, id }: Pick<DestinationRow, 'account_id' | 'id'>): string {
  return `telemetry destination ${accountId} ${id}`
}

export function openSecrets(sealer: Sealer, row: DestinationRow): DestinationSecrets | undefined {
  const text = sealer.open(row.secrets, placeOf(row))
  return text === undefined ? undefined : (JSON.parse(text) as DestinationSecrets) // only this feature seals them
}

/** By creation; IDs sort by time. */
export function listDestinations(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: PageRequest<TelemetryDestinationId>,
): Promise<readonly DestinationRow[]> {
  return db
    .selectFrom('telemetry_destination')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) =>
      query.where('id', order === 'asc' ? '>' : '<', after as TelemetryDestinationId),
    )
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Throws 404 when it is unknown or another account's. */
export async function requireDestination(
  db: Kysely<Database>,
  { accountId, id }: DestinationReference,
): Promise<DestinationRow> {
  const row = await db
    .selectFrom('telemetry_destination')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound('telemetry destination')
  return row
}

/** Of all accounts: what a process exports to. */
export function enabledDestinations(db: Kysely<Database>): Promise<readonly DestinationRow[]> {
  return db.selectFrom('telemetry_destination').selectAll().where('enabled', '=', 1).execute()
}

/** Seals again what only the key before has sealed. */
export async function renewSeal(db: Kysely<Database>, sealer: Sealer, row: DestinationRow): Promise<void> {
  const secrets = sealer.renew(row.secrets, placeOf(row))
  if (secrets === undefined) return
  await db
    .updateTable('telemetry_destination')
    .set({ secrets })
    .where('account_id', '=', row.account_id)
    .where('id', '=', row.id)
    .where('secrets', '=', row.secrets)
    .execute()
}

/* The services that take traces over OTLP: where they do, and how they authenticate. */

export const DESTINATION_KINDS = ['otlp', 'langfuse', 'langsmith', 'datadog', 'honeycomb', 'grafana_cloud'] as const
export type DestinationKind = (typeof DESTINATION_KINDS)[number]

type Pairs = Readonly<Record<string, string>>

interface KindRule {
  /** Default of `url`; undefined: it is required. */
  readonly url?: string
  /** Appended to a `url` that does not end with it. */
  readonly path: string
  /** The form of `credential`; undefined: it has none. */
  readonly credential?: string
  readonly headers: (credential: string) => Pairs
  /** Attributes of the request's span and of its attempts' spans: tokens must count once. */
  readonly extras?: { readonly request: Pairs; readonly attempt: Pairs }
}

const basic = (credential: string): Pairs => ({
  authorization: `Basic ${Buffer.from(credential, 'utf8').toString('base64')}`,
})

const RULES: Readonly<Record<DestinationKind, KindRule>> = {
  otlp: { path: '', headers: () => ({}) },
  langfuse: {
    url: 'https://cloud.langfuse.com/api/public/otel/v1/traces',
    path: '/api/public/otel/v1/traces',
    credential: 'public key:secret key',
    headers: basic,
    extras: {
      request: { 'langfuse.observation.type': 'span' },
      attempt: { 'langfuse.observation.type': 'generation' },
    },
  },
  langsmith: {
    url: 'https://api.smith.langchain.com/otel/v1/traces',
    path: '/otel/v1/traces',
    credential: 'API key',
    headers: (key) => ({ 'x-api-key': key }),
    extras: { request: { 'langsmith.span.kind': 'chain' }, attempt: { 'langsmith.span.kind': 'llm' } },
  },
  datadog: {
    url: 'https://otlp.datadoghq.com/v1/traces',
    path: '/v1/traces',
    credential: 'API key',
    headers: (key) => ({ 'dd-api-key': key, 'dd-otlp-source': 'llmobs' }),
  },
  honeycomb: {
    url: 'https://api.honeycomb.io/v1/traces',
    path: '/v1/traces',
    credential: 'ingest key',
    headers: (key) => ({ 'x-honeycomb-team': key }),
  },
  grafana_cloud: {
    path: '/otlp/v1/traces',
    credential: 'instance ID:token',
    headers: basic,
  },
}

/** `url` and `credential` of each kind, for documentation. */
export function describeKinds(): string {
  return DESTINATION_KINDS.map((kind) => {
    const { url, credential } = RULES[kind]
    return `\`${kind}\` (${url === undefined ? '`url` required' : `default ${url}`}${credential === undefined ? '' : `; credential: ${credential}`})`
  }).join(', ')
}

/** The address that traces go to. @throws GatewayError 400 where one is required. */
export function urlOf(kind: DestinationKind, url: string | undefined): string {
  const { url: standard, path } = RULES[kind]
  if (url === undefined) {
    if (standard !== undefined) return standard
    throw new GatewayError('missing_field', `'url' is required for the kind '${kind}'.`, { param: 'url' })
  }
  const trimmed = url.replace(/\/$/, '')
  return path === '' || trimmed.endsWith('/v1/traces') ? url : trimmed + path
}

/** @throws GatewayError 400 for a credential that is missing or of the wrong form. */
export function checkCredential(kind: DestinationKind, credential: string | undefined): void {
  const { credential: form } = RULES[kind]
  if (form === undefined && credential === undefined) return
  if (form === undefined) {
    const message = `The kind '${kind}' has no 'credential'; send it in 'headers'.`
    throw new GatewayError('invalid_value', message, { param: 'credential' })
  }
  if (credential === undefined)
    throw new GatewayError('missing_field', `'credential' is required for '${kind}': ${form}.`, { param: 'credential' })
  if (form.includes(':') && !/^[^:]+:.+$/.test(credential))
    throw new GatewayError('invalid_value', `'credential' must be ${form}, with a colon.`, { param: 'credential' })
}

export function headersOf(kind: DestinationKind, { credential, headers }: DestinationSecrets): Pairs {
  return { ...headers, ...(credential === undefined ? {} : RULES[kind].headers(credential)) }
}

export function extrasOf(kind: DestinationKind): KindRule['extras'] {
  return RULES[kind].extras
}

/** What is sealed. */
export interface DestinationSecrets {
  readonly credential?: string | undefined
  readonly headers: Pairs
}
