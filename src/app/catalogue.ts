/**
 * The catalogue in force: the built-in one, overridden by a published one that was pulled. For each model the published
 * entry applies unless the release is newer.
 */
import { readFile } from 'node:fs/promises'
import type { Kysely, Transaction } from 'kysely'
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import { CATALOGUE } from '../../catalogue/index.ts'
import { PUBLIC_KEY } from '../../catalogue/public-key.ts'
import type { Config } from '../config/schema.ts'
import { treeOfJson } from '../config/source-tree.ts'
import { MODEL_SCHEMA } from '../config/upstream-schemas.ts'
import { type SchemaNode, validate } from '../config/validate.ts'
import type { Database } from '../db/schema/schema.ts'
import { findFirstAccount } from '../db/shared-queries.ts'
import type { IdSource } from '../domain/ids.ts'
import { auditWriter } from '../features/audit/log.ts'
import { buildModelBook } from '../features/models/book.ts'
import {
  type CatalogueChanges,
  catalogueChanges,
  openCatalogue,
  type PublishedCatalogue,
  storeCatalogue,
  storedCatalogue,
} from '../features/stored-settings/published-catalogue.ts'
import { lockSettings } from '../features/stored-settings/store.ts'
import { every, type JobKind } from '../jobs/job.ts'
import { isRecord, type Json } from '../lib/json.ts'
import type { Log } from '../telemetry/log.ts'

const HOUR_MS = 3_600_000
const FETCH_WITHIN_MS = 30_000
const MAX_FILE_BYTES = 16_777_216

/** The latest date on which a figure of the release was verified. */
const BUILT_IN_READ = CATALOGUE.reduce((last, { source }) => (source.read > last ? source.read : last), '')

export function catalogueInForce(published: PublishedCatalogue | undefined): readonly CatalogueEntry[] {
  if (published === undefined || published.publishedAt < BUILT_IN_READ) return CATALOGUE
  const entries = published.models as unknown as readonly CatalogueEntry[] // validated when they were stored
  const ids = new Set(entries.map(({ id }) => id))
  return [...entries, ...CATALOGUE.filter(({ id }) => !ids.has(id))]
}

/** Returns the problems of a published catalogue. Empty if it can be used. */
export function catalogueProblems(models: readonly Json[]): readonly string[] {
  const problems = models.flatMap((model) => entryProblems(model).map((text) => `${String(model['id'])}: ${text}`))
  if (problems.length > 0) return problems
  const catalogue = models as unknown as readonly CatalogueEntry[]
  const providers = new Set(catalogue.flatMap(({ deployments }) => deployments.map(({ provider }) => provider)))
  try {
    void buildModelBook({ catalogue, models: [], providers, now: Date.now }).all
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function entryProblems(model: Json): readonly string[] {
  const { created, input_modalities, supported_parameters, source, settled: _, note: __, price_ends, ...rest } = model
  const { deprecation_date, ...settings } = rest
  const problems: string[] = []
  const tree = treeOfJson(isAbsent(deprecation_date) ? settings : rest)
  validate({ schema: MODEL_SCHEMA as SchemaNode, node: tree, path: [] }, problems)
  const needed = {
    created: Number.isInteger(created),
    input_modalities: isTexts(input_modalities),
    supported_parameters: isTexts(supported_parameters),
    source: isRecord(source) && typeof source['url'] === 'string' && typeof source['read'] === 'string',
    price_ends: price_ends === undefined || typeof price_ends === 'string',
    ...Object.fromEntries(REQUIRED.map((name) => [name, model[name] !== undefined])),
  }
  const wrong = Object.entries(needed).filter(([, isRight]) => !isRight)
  return [...problems, ...wrong.map(([name]) => `${name}: not as in the catalogue of a release`)]
}

/** The fields that every entry must have, although they are optional in the configuration. */
const REQUIRED = ['name', 'owned_by', 'capabilities', 'context_window', 'max_output_tokens', 'aliases', 'deployments']

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

export interface Pulled extends CatalogueChanges {
  readonly publishedAt: string
  /** The reason why it was not applied. Undefined if it was applied or changes nothing. */
  readonly refused: string | undefined
}

const NO_PUBLISHER =
  'No publisher of catalogues is trusted: this release pins none. Set `catalogue.public_key` to the key of yours, or use --public-key.'

export interface PullInput {
  readonly db: Kysely<Database>
  readonly config: Pick<Config, 'catalogue'>
  /** The address or the path. */
  readonly from: string
  /** Whether prices may rise, and an older catalogue may replace a newer one. */
  readonly isAccepted: boolean
  readonly isDryRun: boolean
  readonly now: () => number
  /** Writes the audit entry in the transaction that applies the catalogue. */
  readonly audit: (inside: Transaction<Database>, details: Readonly<Record<string, string | number>>) => Promise<void>
}

/** Rejects if a file cannot be read, is not signed by the publisher, or has invalid entries. */
export async function pullCatalogue({
  db,
  config,
  from,
  isAccepted,
  isDryRun,
  now,
  audit,
}: PullInput): Promise<Pulled> {
  const publicKey = config.catalogue.public_key ?? PUBLIC_KEY
  if (publicKey === undefined) throw new Error(NO_PUBLISHER)
  const published = openCatalogue(await readSource(from), publicKey)
  const problems = catalogueProblems(published.models)
  if (problems.length > 0) throw new Error(`The catalogue cannot be used: ${problems.slice(0, 5).join('; ')}`)
  return await db.transaction().execute(async (inside) => {
    await lockSettings(inside)
    const current = await storedCatalogue(inside)
    const [before, after] = [catalogueInForce(current), catalogueInForce(published)]
    const changes = catalogueChanges(before as unknown as readonly Json[], after as unknown as readonly Json[])
    const { publishedAt } = published
    const refused = isAccepted ? undefined : refusalOf(changes, { publishedAt, current })
    if (refused === undefined && !isDryRun && current?.publishedAt !== publishedAt) {
      await storeCatalogue(inside, published, now())
      await audit(inside, { published_at: publishedAt, changes: changes.lines.length })
    }
    return { ...changes, publishedAt, refused }
  })
}

function refusalOf(
  { rises }: CatalogueChanges,
  { publishedAt, current }: { readonly publishedAt: string; readonly current: PublishedCatalogue | undefined },
): string | undefined {
  const newest = [current?.publishedAt ?? '', BUILT_IN_READ].sort().at(-1) ?? ''
  if (publishedAt < newest) return `It is older than the one in force (${publishedAt} < ${newest}).`
  return rises.length === 0 ? undefined : `${rises.length} prices rise to more than twice as much.`
}

async function readSource(from: string): Promise<string> {
  if (!/^https?:\/\//.test(from)) return await readFile(from, 'utf8')
  const { request } = await import('undici')
  const { statusCode, body } = await request(from, { signal: AbortSignal.timeout(FETCH_WITHIN_MS) })
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAX_FILE_BYTES) throw new Error(`The catalogue exceeds ${MAX_FILE_BYTES} bytes.`)
    pieces.push(piece)
  }
  if (statusCode !== 200) throw new Error(`${from} answered with status ${statusCode}.`)
  return Buffer.concat(pieces).toString('utf8')
}

interface AuditInput {
  readonly now: () => number
  readonly ids: IdSource
}

/** Records pulls of the schedule with the operator's account. */
export function auditOfPull({ now, ids }: AuditInput): PullInput['audit'] {
  const write = auditWriter({ now, ids })
  return async (inside, details) => {
    const accountId = await findFirstAccount(inside)
    if (accountId === undefined) return
    const actor = { kind: 'system', id: undefined, name: undefined } as const
    const from = { address: undefined, userAgent: undefined, requestId: undefined }
    const event = { ...from, accountId, actor, action: 'catalogue.changed', subject: undefined, details } as const
    await write(inside, { ...event, result: 'done' })
  }
}

interface CatalogueJobsInput extends Pick<PullInput, 'db' | 'now' | 'audit'> {
  readonly config: Pick<Config, 'catalogue'>
  readonly log: Log
  /** Called after a change. When it resolves, the change is in force in this process. */
  readonly changed: () => Promise<void>
}

/** The schedule of pulls if one is configured. Large price rises wait for a person's approval. */
export function catalogueJobs({ changed, log, ...input }: CatalogueJobsInput): Readonly<Record<string, JobKind>> {
  const { url, pull_every_hours: hours } = input.config.catalogue
  if (url === undefined || hours === undefined) return {}
  const pull = async (): Promise<void> => {
    try {
      const { refused, rises, publishedAt } = await pullCatalogue({
        ...input,
        from: url,
        isAccepted: false,
        isDryRun: false,
      })
      if (refused !== undefined) log.warn({ refused, rises, publishedAt }, 'a published catalogue needs consent')
      await changed()
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'a catalogue could not be pulled')
    }
  }
  return { 'catalogue.pull': every(hours * HOUR_MS, pull) }
}
