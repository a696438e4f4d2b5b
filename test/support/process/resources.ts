/** One of everything that an account can have, by the route that it is found under. */
import { randomBytes } from 'node:crypto'
import { contentSealer } from '../../../src/app/content.ts'
import { responseKeys } from '../../../src/app/responses.ts'
import { SCOPES } from '../../../src/domain/identity/caller.ts'
import type { AccountId, BudgetId, InvoiceId, KeyId, TeamId, UserId, WebhookId } from '../../../src/domain/ids.ts'
import type { StoredEntry } from '../../../src/domain/stored-setting.ts'
import { createAccount } from '../../../src/features/accounts/queries.ts'
import { type InvoiceDocument, writeDocument } from '../../../src/features/invoices/document.ts'
import { createKey, FULL_ACCESS } from '../../../src/features/keys/queries.ts'
import { createInvitation } from '../../../src/features/members/invitations.ts'
import { putGroup, putUser } from '../../../src/features/members/scim/store.ts'
import { createResponseStore } from '../../../src/features/responses/store.ts'
import { insertSession } from '../../../src/features/sessions/queries.ts'
import { addVersion } from '../../../src/features/stored-settings/store.ts'
import { insertTeam, putTeamMember } from '../../../src/features/teams/queries.ts'
import { insertContent, sealContent } from '../../../src/features/usage/content/store.ts'
import { type AppForTests, SECRET } from '../browser/signed-in.ts'
import { testIds } from '../database.ts'
import { completionRecord, recordCompletions } from '../ledger/completions.ts'

export interface Owner {
  readonly accountId: AccountId
  /** Somebody who belongs to the account. */
  readonly userId: UserId
}

export interface Resource {
  /** Of a new one. Undefined: this is the same for everybody, and nobody has one of their own. */
  readonly make: ((app: AppForTests, owner: Owner) => Promise<string>) | undefined
  /** Whose it is: also within an account, some things are a person's alone. */
  readonly of: 'account' | 'person' | 'everybody'
  readonly unknownId: string
}

const born = { now: Date.now, ids: testIds }
const NOBODYS = 'zzzzzzzzzzzzzzzzzzzzzz'

/** By the path before the last `/:id`; where it has others, the ids are joined by slashes. */
export const RESOURCES: Readonly<Record<string, Resource>> = {
  '/v1/keys': {
    async make({ database }, { accountId }) {
      // Such a one as the weakest key that may manage keys can change.
      const scopes = SCOPES.filter((scope) => scope === 'keys')
      const { key } = await createKey(database.db, { ...FULL_ACCESS, accountId, name: 'one', scopes }, born)
      return key.id
    },
    of: 'account',
    unknownId: `key_${NOBODYS}`,
  },
  '/v1/members': {
    make: async (app, { accountId }) => {
      return (await app.person(accountId, 'developer', `${testIds.request()}@example.com`)).userId
    },
    of: 'account',
    unknownId: `usr_${NOBODYS}`,
  },
  '/v1/invitations': {
    async make({ database: { db } }, { accountId }) {
      const asked = { accountId, role: 'billing', email: undefined, createdBy: undefined, keyId: undefined } as const
      return (await db.transaction().execute((inside) => createInvitation(inside, asked, born))).invitation.id
    },
    of: 'account',
    unknownId: `ivt_${NOBODYS}`,
  },
  '/v1/teams': {
    make: ({ database: { db } }, { accountId }) => makeTeam(db, accountId),
    of: 'account',
    unknownId: `team_${NOBODYS}`,
  },
  '/v1/teams/:id/members': {
    async make(app, { accountId }) {
      const { db } = app.database
      const id = await makeTeam(db, accountId)
      const { userId } = await app.person(accountId, 'developer', `${testIds.request()}@example.com`)
      await putTeamMember(db, { team: { accountId, id }, userId, role: 'member', byGroup: false }, Date.now())
      return `${id}/${userId}`
    },
    of: 'account',
    unknownId: `team_${NOBODYS}/usr_${NOBODYS}`,
  },
  '/scim/v2/Users': {
    async make({ database: { db }, person }, { accountId }) {
      const email = `${testIds.request()}@example.com`
      const { userId } = await person(accountId, 'developer', email)
      const user = { accountId, userId, userName: email, email, externalId: undefined, active: true, resource: {} }
      await putUser(db, user, Date.now())
      return userId
    },
    of: 'account',
    unknownId: `usr_${NOBODYS}`,
  },
  '/scim/v2/Groups': {
    async make({ database: { db } }, { accountId }) {
      const id = testIds.group()
      await putGroup(db, { accountId, id, displayName: id, externalId: undefined, members: [] }, Date.now())
      return id
    },
    of: 'account',
    unknownId: `grp_${NOBODYS}`,
  },
  '/scim/v2/Schemas': { make: undefined, of: 'everybody', unknownId: 'none' },
  '/scim/v2/ResourceTypes': { make: undefined, of: 'everybody', unknownId: 'none' },
  '/v1/devices': {
    async make({ database: { db } }, { accountId, userId }) {
      const id = testIds.device()
      const device = { account_id: accountId, id, user_id: userId, client_id: 'turnpike-cli', scopes: '["chat"]' }
      await db
        .insertInto('device')
        .values({ ...device, created_at: Date.now(), changed_at: Date.now() })
        .execute()
      return id
    },
    of: 'account',
    unknownId: `dev_${NOBODYS}`,
  },
  '/v1/sessions': {
    async make({ database: { db } }, owner) {
      const id = testIds.session()
      const origin = { address: '203.0.113.7', userAgent: 'Test', requestId: 'req_test' }
      await insertSession(db, { ...owner, id, secretHash: randomBytes(32), origin }, Date.now())
      return id
    },
    of: 'person',
    unknownId: `ses_${NOBODYS}`,
  },
  '/v1/usage/completions': {
    async make({ database }, { accountId }) {
      const record = completionRecord({ accountId, createdAt: Date.now() })
      await recordCompletions(database, [record])
      const content = { endpoint: 'POST /v1/chat/completions', request: '{}', response: undefined }
      const of = { accountId, id: record.id, keyId: record.keyId, userId: undefined, createdAt: record.createdAt }
      const sealer = contentSealer({ secret: SECRET, config: {} })
      const sealed = sealContent(content, of, sealer)
      await database.batch([insertContent(database.db, { ...of, sealed }, sealer)])
      return record.id
    },
    of: 'account',
    unknownId: `chatcmpl-${NOBODYS}`,
  },
  '/v1/responses': { make: makeResponse, of: 'account', unknownId: `resp_${NOBODYS}` },
  '/responses': { make: makeResponse, of: 'account', unknownId: `resp_${NOBODYS}` },
  '/v1/invoices': { make: makeInvoice, of: 'account', unknownId: `inv_${NOBODYS}` },
  '/v1/agents': { make: makeAgent, of: 'account', unknownId: `agt_${NOBODYS}` },
  '/v1/provider-credentials': { make: makeProviderCredential, of: 'account', unknownId: `pcr_${NOBODYS}` },
  '/v1/telemetry-destinations': { make: makeDestination, of: 'account', unknownId: `tds_${NOBODYS}` },
  '/v1/guardrails': { make: makeGuardrail, of: 'account', unknownId: `grd_${NOBODYS}` },
  '/v1/webhooks': { make: makeWebhook, of: 'account', unknownId: `whk_${NOBODYS}` },
  '/v1/webhooks/:id/deliveries': {
    async make(app, owner) {
      const webhookId = await makeWebhook(app, owner)
      return `${webhookId}/${await makeDelivery(app, owner, webhookId)}`
    },
    of: 'account',
    unknownId: `whk_${NOBODYS}/dlv_${NOBODYS}`,
  },
  '/v1/budgets': { make: makeBudget, of: 'account', unknownId: `bud_${NOBODYS}` },
  '/v1/budgets/:id/raises': {
    async make(app, owner) {
      const budgetId = await makeBudget(app, owner)
      const id = testIds.budgetRaise()
      const raise = { account_id: owner.accountId, budget_id: budgetId, id, reason: 'launch', amount_nano_usd: 1n }
      await app.database.db
        .insertInto('budget_raise')
        .values({ ...raise, created_at: Date.now(), ends_at: Date.now() + 3_600_000 })
        .execute()
      return `${budgetId}/${id}`
    },
    of: 'account',
    unknownId: `bud_${NOBODYS}/bra_${NOBODYS}`,
  },
  '/v1/admin/accounts': {
    make: async ({ database }) => (await createAccount(database.db, { name: 'one', plan: 'free' }, born)).id,
    of: 'everybody',
    unknownId: `acc_${NOBODYS}`,
  },
  '/v1/admin/models': {
    make: (app) => makeStored(app, { kind: 'model', name: 'stored', settings: { name: 'Stored' } }),
    of: 'everybody',
    unknownId: 'no-such-model',
  },
  '/v1/admin/providers': {
    make: (app) => makeStored(app, { kind: 'provider', name: 'simulator', settings: { protocol: 'simulator' } }),
    of: 'everybody',
    unknownId: 'no-such-provider',
  },
  '/v1/models': { make: undefined, of: 'everybody', unknownId: 'no-such-model' },
  '/models': { make: undefined, of: 'everybody', unknownId: 'no-such-model' },
}

async function makeTeam(db: AppForTests['database']['db'], accountId: AccountId): Promise<TeamId> {
  const settings = { name: 'one', models: [], endpoints: [], requestsPerMinute: undefined, dataPolicy: undefined }
  return (await insertTeam(db, { accountId, id: testIds.team(), ...settings }, Date.now())).id
}

async function makeStored({ database: { db } }: AppForTests, entry: StoredEntry): Promise<string> {
  const version = { ...entry, effectiveFrom: 0, createdBy: null }
  await addVersion(db, version, { keys: [randomBytes(32)], now: Date.now() })
  return entry.name
}

/** A cancelled one that has left a diff: it can be read, cancelled, told more and deleted. */
async function makeAgent({ database: { db } }: AppForTests, { accountId }: Owner): Promise<string> {
  const [id, runId, now] = [testIds.agent(), testIds.run(), Date.now()]
  const of = { account_id: accountId, agent_id: id, run_id: runId, created_at: now }
  const what = { name: 'one', repository: 'acme/website', model: 'turnpike-simulator', key_id: 'key_none' as KeyId }
  const counts = { runs: 1, messages: 1, events: 1 }
  await db
    .insertInto('agent')
    .values({ account_id: accountId, id, status: 'cancelled', ...what, creator: '{}', ...counts, created_at: now })
    .execute()
  const nothing = {
    steps: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cost_nano_usd: 0n,
    attempt: 0,
    pushed: 0,
  } as const
  await db
    .insertInto('run')
    .values({
      account_id: accountId,
      agent_id: id,
      id: runId,
      number: 1,
      status: 'cancelled',
      ...nothing,
      created_at: now,
    })
    .execute()
  const content = JSON.stringify({ role: 'user', content: 'Do it.' })
  await db
    .insertInto('agent_message')
    .values({ ...of, number: 1, kind: 'user', content })
    .execute()
  await db
    .insertInto('agent_event')
    .values({ ...of, sequence: 1, type: 'status', data: '{"status":"queued"}' })
    .execute()
  await db
    .insertInto('run_artifact')
    .values({ ...of, kind: 'diff', content: Buffer.from('+x'), truncated: 0 })
    .execute()
  return id
}

async function makeBudget({ database: { db } }: AppForTests, { accountId }: Owner): Promise<BudgetId> {
  const id = testIds.budget()
  const budget = { account_id: accountId, id, level: 'tag', subject: 'env=prod', limit_nano_usd: 1n } as const
  const window = { period: 'month', timezone: 'UTC', action: 'block', position: 0 } as const
  await db
    .insertInto('budget')
    .values({ ...budget, ...window, created_at: Date.now() })
    .execute()
  return id
}

async function makeProviderCredential({ database: { db } }: AppForTests, { accountId }: Owner): Promise<string> {
  const id = testIds.providerCredential()
  const row = {
    account_id: accountId,
    id,
    provider: id,
    key_id: null,
    name: '',
    last4: 'abcd',
    allow_fallback: 0,
  } as const
  await db
    .insertInto('provider_credential')
    .values({ ...row, secret: randomBytes(60), status: 'untested', created_at: Date.now() })
    .execute()
  return id
}

async function makeDestination({ database: { db } }: AppForTests, { accountId }: Owner): Promise<string> {
  const id = testIds.telemetryDestination()
  const row = {
    account_id: accountId,
    id,
    name: 'traces',
    kind: 'otlp',
    url: 'https://otel.example/',
    team_id: null,
  } as const
  const times = { created_at: Date.now(), changed_at: Date.now() }
  await db
    .insertInto('telemetry_destination')
    .values({ ...row, ...times, secrets: randomBytes(60), enabled: 0, content: 0 })
    .execute()
  return id
}

async function makeGuardrail({ database: { db } }: AppForTests, { accountId }: Owner): Promise<string> {
  const id = testIds.guardrail()
  const at = { created_at: Date.now(), updated_at: Date.now() }
  await db
    .insertInto('guardrail')
    .values({
      account_id: accountId,
      id,
      name: 'one',
      rules: '[]',
      teams: null,
      keys: null,
      enabled: 1,
      created_by: null,
      ...at,
    })
    .execute()
  return id
}

async function makeResponse({ database }: AppForTests, { accountId }: Owner): Promise<string> {
  const id = testIds.completion().replace('chatcmpl-', 'resp_')
  const store = createResponseStore({
    ...database,
    keys: responseKeys({ secret: SECRET, config: {} }),
    maxBytes: () => Number.MAX_SAFE_INTEGER,
    now: Date.now,
  })
  const items = JSON.stringify({ id: 'msg_1', type: 'message', role: 'user', content: [] })
  const content = { inputItems: 1, response: JSON.stringify({ id, object: 'response' }), items }
  await store.insert({ accountId, id, previousId: undefined, content, items: 1 })
  return id
}

async function makeWebhook({ database: { db } }: AppForTests, { accountId }: Owner): Promise<WebhookId> {
  const id = testIds.webhook()
  const row = {
    account_id: accountId,
    id,
    kind: 'webhook',
    url: 'https://receiver.invalid/',
    events: '["agent.failed"]',
  } as const
  await db
    .insertInto('webhook')
    .values({ ...row, description: '', secret: randomBytes(60), created_at: Date.now() })
    .execute()
  return id
}

/** One that has ended. */
async function makeDelivery(
  { database: { db } }: AppForTests,
  { accountId }: Owner,
  webhookId: WebhookId,
): Promise<string> {
  const id = testIds.delivery()
  const event = { account_id: accountId, id: testIds.event(), created_at: Date.now() }
  await db
    .insertInto('event')
    .values({ ...event, type: 'agent.failed', data: '{}' })
    .execute()
  const row = { account_id: accountId, webhook_id: webhookId, id, event_id: event.id, created_at: Date.now() }
  await db
    .insertInto('delivery')
    .values({ ...row, status: 'delivered', round: 1, attempts: 1, ended_at: Date.now() })
    .execute()
  return id
}

let invoices = 0

async function makeInvoice({ database: { db } }: AppForTests, { accountId }: Owner): Promise<string> {
  const number = ++invoices
  const id = testIds.invoice()
  const [period_start, period_end] = [Date.UTC(2000, number), Date.UTC(2000, number + 1)]
  const nothing = { listed: [], unlisted: { entries: 0, amount_nano_usd: 0n }, total_nano_usd: 0n }
  const document: InvoiceDocument = {
    version: 1,
    id: id as InvoiceId,
    number,
    account: { id: accountId, name: 'Test' },
    period_start,
    period_end,
    closed_at: period_end,
    entries: { first: 1, last: 1 },
    lines: [],
    adjustments: nothing,
    credits: nothing,
    opening_balance_nano_usd: 0n,
    closing_balance_nano_usd: 0n,
    total_nano_usd: 0n,
  }
  const row = { account_id: accountId, number, id, period_start, period_end, total_nano_usd: 0n, closed_at: period_end }
  await db
    .insertInto('invoice')
    .values({ ...row, document: writeDocument(document) })
    .execute()
  return id
}
