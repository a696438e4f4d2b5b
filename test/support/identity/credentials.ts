/** One credential of every kind that there is, each with the rights that the table gives it, said here once more. */
import assert from 'node:assert/strict'
import {
  MEMBER_RIGHTS,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
} from '../../../src/domain/identity/caller.ts'
import type { AccountId, UserId } from '../../../src/domain/ids.ts'
import { createKey, FULL_ACCESS } from '../../../src/features/keys/queries.ts'
import { type AppForTests, type Browser, OWN_PAGE } from '../browser/signed-in.ts'
import { testIds } from '../database.ts'

export interface Credential {
  readonly name: string
  readonly secret: string
  readonly accountId: AccountId
  readonly userId: UserId | undefined
  readonly role: Role | undefined
  readonly rights: ReadonlySet<Right>
}

const API_SCOPES: readonly Scope[] = ['chat', 'models:read', 'usage:read', 'agents:read', 'agents:write', 'webhooks']
/** `members` alone brings more: who manages members sees them, and what each of them may do for themselves. */
const IMPLIED: Partial<Record<Scope, readonly Right[]>> = {
  members: ['members:read', 'devices'],
  teams: ['teams:read'],
}
const born = { now: Date.now, ids: testIds }

/** Of full access, of each scope alone, and of everything there is. */
export async function keysOf(app: AppForTests, accountId: AccountId): Promise<readonly Credential[]> {
  const make = async (name: string, scopes: readonly Scope[], rights: readonly Right[]): Promise<Credential> => {
    const { secret } = await createKey(app.database.db, { ...FULL_ACCESS, accountId, name, scopes }, born)
    return { name, secret, accountId, userId: undefined, role: undefined, rights: new Set(rights) }
  }
  const within = SCOPES.filter((scope) => scope !== 'operator')
  return [
    await make('key of full access', [], [...within, ...MEMBER_RIGHTS]),
    await make('key of the operator', SCOPES, [...SCOPES, ...MEMBER_RIGHTS]),
    ...(await Promise.all(
      SCOPES.map((scope) => make(`key with ${scope}`, [scope], [scope, ...(IMPLIED[scope] ?? [])])),
    )),
  ]
}

/** Of each role. */
export async function sessionsOf(app: AppForTests, accountId: AccountId): Promise<readonly Credential[]> {
  return Promise.all(ROLES.map(async (role) => sessionOf(app, await browserOf(app, accountId, role), role)))
}

export async function browserOf(app: AppForTests, accountId: AccountId, role: Role): Promise<Browser> {
  return app.browser(await app.person(accountId, role, `${role}-${testIds.request()}@example.com`))
}

export async function sessionOf(app: AppForTests, browser: Browser, role: Role): Promise<Credential> {
  const { accountId, userId } = browser
  const rights = new Set(rightsIn(role))
  return { name: `session of the ${role}`, secret: await app.token(browser), accountId, userId, role, rights }
}

/** Of a device of each role, approved by the device flow. */
export async function tokensOf(app: AppForTests, accountId: AccountId): Promise<readonly Credential[]> {
  const tokens: Credential[] = []
  for (const role of ROLES) {
    const browser = await browserOf(app, accountId, role)
    const { userId } = browser
    const rights = new Set(rightsIn(role).filter((right) => API_SCOPES.some((scope) => scope === right)))
    tokens.push({ name: `token of the ${role}`, secret: await connect(app, browser), accountId, userId, role, rights })
  }
  return tokens
}

/** Connects a device of the person's, with all that devices can have. @returns its access token. */
export async function connect(app: AppForTests, { cookie }: Pick<Browser, 'cookie'>): Promise<string> {
  const client_id = 'turnpike-cli'
  const begun = (await app.ask('POST', '/device/code', { body: { client_id, scope: 'api' } })).json()
  const headers = { cookie, ...OWN_PAGE, 'content-type': 'application/x-www-form-urlencoded' }
  const decision = String(new URLSearchParams({ user_code: begun.user_code, decision: 'approve' }))
  const decided = await app.ask('POST', '/activate/decision', { headers, body: decision })
  assert.equal(decided.headers.location, '/activate/approved')
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const asked = { client_id, grant_type, device_code: begun.device_code }
  return (await app.ask('POST', '/oauth/token', { body: asked })).json().access_token
}

function rightsIn(role: Role): readonly Right[] {
  return (Object.keys(RIGHTS) as Right[]).filter((right) => RIGHTS[right].roles.includes(role))
}
