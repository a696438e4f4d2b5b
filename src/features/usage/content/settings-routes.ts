/** `/content-capture`: which prompts and answers of an account are stored. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import { nextChangedAt } from '../../../db/changed-at.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { assertKnown } from '../../../db/shared-queries.ts'
import { type CaptureSettings, captureSettings } from '../../../domain/capture/settings.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { requesterOf } from '../../../http/request-origin.ts'
import { closed } from '../../../http/wire-fields.ts'
import type { FeatureDeps, WriteAudit } from '../../deps.ts'

/** What the operator allows. */
export interface CaptureLimits {
  readonly allow: boolean
  readonly retention_days: number
  readonly max_bytes: number
}

export interface CaptureSettingsDeps extends FeatureDeps {
  readonly writeAudit: WriteAudit
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
  readonly limits: CaptureLimits
}

/** Keys and teams whose requests alone are captured. */
const MAX_REFERENCES = 1_000

const References = (what: string) =>
  Type.Unsafe<readonly string[] | null>({
    anyOf: [
      {
        type: 'array',
        items: { type: 'string', maxLength: 100, pattern: '^[^\\u0000]*$' },
        minItems: 1,
        maxItems: MAX_REFERENCES,
      },
      { type: 'null' },
    ],
    description: `IDs: only requests ${what}. Null for both: of the whole account.`,
  })
const Keys = References('of these API keys and of the keys that they created, or of `teams`')
const Teams = References('of these teams, or of `keys`')
const Days = Type.Integer({ minimum: 1, maximum: 3_650, description: 'Days that prompts and answers are kept.' })

const SettingsBody = closed({
  enabled: Type.Boolean({ description: 'Whether prompts and answers are stored from now on.' }),
  keys: Type.Optional(Keys),
  teams: Type.Optional(Teams),
  retention_days: Type.Optional(Days),
})
const SettingsView = Type.Object({
  object: Type.Literal('content_capture'),
  allowed: Type.Boolean({ description: 'Whether the operator allows it.' }),
  enabled: Type.Boolean(),
  keys: Keys,
  teams: Teams,
  retention_days: Days,
  max_bytes: Type.Integer({ description: 'Largest prompt and answer together; larger ones are not stored.' }),
})

const path = '/content-capture'
const config = { scope: 'content' } as const
const tags = ['Content capture']
const readSchema = { summary: 'Get content capture', tags, response: { 200: SettingsView } }
const writeSchema = {
  summary: 'Set content capture',
  description:
    'Replaces the settings; takes effect within a second, in every process. Off by default. What is stored already stays until its retention, or until it is deleted. Returns 409 where the operator does not allow it.',
  tags,
  body: SettingsBody,
  response: { 200: SettingsView },
}

export function captureSettingsRoutes(deps: CaptureSettingsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, limits, changed, writeAudit } = deps
  return async (app) => {
    app.get(path, { config, schema: readSchema }, async (request) => {
      return render(limits, await readSettings(db, callerOf(request).accountId))
    })
    app.put(path, { config, schema: writeSchema }, async (request) => {
      const { caller, audited } = requesterOf(request, callerOf(request))
      const { accountId } = caller
      const settings = parseSettings(limits, request.body)
      await assertKnown(db, accountId, settings)
      await db.transaction().execute(async (inside) => {
        await writeSettings(deps, inside, { accountId, settings })
        const { enabled, keys = null, teams = null, retentionDays: retention_days = null } = settings
        const details = { enabled, keys, teams, retention_days }
        await writeAudit(inside, {
          ...audited,
          action: 'content_capture.changed',
          subject: undefined,
          result: 'done',
          details,
        })
      })
      await changed()
      return render(limits, settings)
    })
  }
}

function parseSettings(limits: CaptureLimits, body: Static<typeof SettingsBody>): CaptureSettings {
  const { enabled, keys, teams, retention_days: retentionDays } = body
  if (enabled && !limits.allow) {
    const message = 'The operator does not allow content capture: `content_capture.allow` is false.'
    throw new GatewayError('conflict', message, { param: 'enabled' })
  }
  if (retentionDays !== undefined && retentionDays > limits.retention_days) {
    const message = `'retention_days' is ${retentionDays}; the operator allows at most ${limits.retention_days}.`
    throw new GatewayError('out_of_range', message, { param: 'retention_days' })
  }
  return { enabled, ...(keys && { keys }), ...(teams && { teams }), ...(retentionDays && { retentionDays }) }
}

async function readSettings(db: Kysely<Database>, accountId: AccountId): Promise<CaptureSettings> {
  const row = await db
    .selectFrom('account')
    .select('content_capture')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  return captureSettings(row.content_capture)
}

async function writeSettings(
  { now }: Pick<CaptureSettingsDeps, 'now'>,
  inside: Kysely<Database>,
  { accountId, settings }: { readonly accountId: AccountId; readonly settings: CaptureSettings },
): Promise<void> {
  await inside
    .updateTable('account')
    .set({ content_capture: JSON.stringify(settings), changed_at: nextChangedAt('account', now()) })
    .where('id', '=', accountId)
    .execute()
}

function render(limits: CaptureLimits, { enabled, keys, teams, retentionDays }: CaptureSettings) {
  return {
    object: 'content_capture' as const,
    allowed: limits.allow,
    enabled,
    keys: keys ?? null,
    teams: teams ?? null,
    retention_days: Math.min(retentionDays ?? limits.retention_days, limits.retention_days),
    max_bytes: limits.max_bytes,
  } satisfies Static<typeof SettingsView>
}
