import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { ROLES, type Role, SCOPES } from '../../src/domain/identity/caller.ts'
import type { AccountId } from '../../src/domain/ids.ts'
import { auditWriter } from '../../src/features/audit/log.ts'
import { loadKeyById } from '../../src/features/keys/authenticator.ts'
import { createPeople, type RightsOfKey } from '../../src/features/members/people.ts'
import { type AppForTests, type Browser, openApp } from '../support/browser/signed-in.ts'
import { testIds } from '../support/database.ts'
import { browserOf, type Credential, connect, keysOf, sessionOf } from '../support/identity/credentials.ts'

/** What somebody has got hold of in the course of a run. */
interface Hoard {
  readonly accountId: AccountId
  readonly secrets: string[]
  readonly browsers: Browser[]
  readonly keyIds: string[]
  readonly invitations: string[]
  /** Devices that may still be connected: the server takes only so many a minute from one address. */
  readonly devices: { left: number }
}

const MAX_DEVICES = 25

const scopes = fc.option(fc.subarray([...SCOPES]), { nil: undefined })
const role = fc.constantFrom(...ROLES)
const pick = fc.nat(20)
const step = fc.oneof(
  fc.record({ kind: fc.constant('create key' as const), with: pick, scopes }),
  fc.record({ kind: fc.constant('patch key' as const), with: pick, of: pick, scopes }),
  fc.record({ kind: fc.constant('invite' as const), with: pick, role }),
  fc.record({ kind: fc.constant('accept' as const), of: pick, as: pick, isStranger: fc.boolean() }),
  fc.record({ kind: fc.constant('change role' as const), with: pick, of: pick, role }),
  fc.record({ kind: fc.constant('leave' as const), of: pick }),
  fc.record({ kind: fc.constant('connect device' as const), of: pick }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const START: Readonly<Record<string, (app: AppForTests, accountId: AccountId) => Promise<Credential | Browser>>> = {
  'a session of the admin': (app, accountId) => browserOf(app, accountId, 'admin'),
  'a session of the developer': (app, accountId) => browserOf(app, accountId, 'developer'),
  'a session of billing': (app, accountId) => browserOf(app, accountId, 'billing'),
  'a key of full access': async (app, accountId) => {
    const [full] = await keysOf(app, accountId)
    assert.ok(full)
    return full
  },
  'a key with the scope keys': (app, accountId) => keyWith(app, accountId, 'keys'),
  'a key with the scope members': (app, accountId) => keyWith(app, accountId, 'members'),
}

async function keyWith(app: AppForTests, accountId: AccountId, scope: string): Promise<Credential> {
  const key = (await keysOf(app, accountId)).find(({ name }) => name === `key with ${scope}`)
  assert.ok(key)
  return key
}

async function begin(app: AppForTests, start: string, devices: Hoard['devices']): Promise<Hoard> {
  const accountId = await app.account('Run')
  await app.person(accountId, 'owner') // who never acts: nothing may come from there
  const first = await START[start]?.(app, accountId)
  assert.ok(first !== undefined)
  const hoard: Hoard = { accountId, secrets: [], browsers: [], keyIds: [], invitations: [], devices }
  if ('cookie' in first) await keepBrowser(app, hoard, first)
  else hoard.secrets.push(first.secret)
  return hoard
}

async function keepBrowser(app: AppForTests, hoard: Hoard, browser: Browser): Promise<void> {
  hoard.browsers.push(browser)
  hoard.secrets.push((await sessionOf(app, browser, 'billing')).secret)
}

function at<Item>(items: readonly Item[], index: number): Item | undefined {
  return items[index % Math.max(1, items.length)]
}

async function take(app: AppForTests, hoard: Hoard, what: Step): Promise<void> {
  const token = 'with' in what ? (at(hoard.secrets, what.with) ?? '') : ''
  switch (what.kind) {
    case 'create key': {
      const answer = await app.ask('POST', '/v1/keys', { token, body: { name: 'k', ...scopesOf(what) } })
      if (answer.statusCode !== 201) return
      hoard.secrets.push(answer.json().key)
      hoard.keyIds.push(answer.json().id)
      return
    }
    case 'patch key': {
      const id = at(hoard.keyIds, what.of) ?? 'key_x'
      await app.ask('PATCH', `/v1/keys/${id}`, { token, body: { name: 'changed', ...scopesOf(what) } })
      return
    }
    case 'invite': {
      const answer = await app.ask('POST', '/v1/invitations', { token, body: { role: what.role } })
      if (answer.statusCode === 201) hoard.invitations.push(answer.json().url.split('=')[1])
      return
    }
    case 'change role': {
      const id = at(hoard.browsers, what.of)?.userId ?? 'usr_x'
      await app.ask('PATCH', `/v1/members/${id}`, { token, body: { role: what.role } })
      return
    }
    case 'accept':
      return accept(app, hoard, what)
    case 'leave': {
      const browser = at(hoard.browsers, what.of)
      if (browser === undefined) return
      const secret = await app.token(browser)
      if (secret !== undefined) await app.ask('DELETE', `/v1/members/${browser.userId}`, { token: secret })
      return
    }
    case 'connect device': {
      const browser = at(hoard.browsers, what.of)
      if (browser === undefined || hoard.devices.left-- <= 0 || (await app.token(browser)) === undefined) return
      hoard.secrets.push(await connect(app, browser))
    }
  }
}

async function accept(
  app: AppForTests,
  hoard: Hoard,
  { of, as, isStranger }: { readonly of: number; readonly as: number; readonly isStranger: boolean },
): Promise<void> {
  const token = at(hoard.invitations, of)
  if (token === undefined) return
  const { db } = app.database
  const writeAudit = auditWriter({ now: Date.now, ids: testIds })
  const rightsOfKey: RightsOfKey = async (inside, key) => (await loadKeyById(inside, key))?.caller.scopes
  const people = createPeople({ db, now: Date.now, ids: testIds, writeAudit, rightsOfKey })
  const elsewhere = isStranger ? await app.person(await app.account(), 'owner') : at(hoard.browsers, as)
  if (elsewhere === undefined) return
  const origin = { address: '203.0.113.7', userAgent: undefined, requestId: 'req_test' }
  const { kind } = await people.accept(token, { userId: elsewhere.userId, origin })
  if (kind !== 'joined') return
  await keepBrowser(app, hoard, await app.browser({ ...elsewhere, accountId: hoard.accountId }))
}

function scopesOf({ scopes }: { readonly scopes: readonly string[] | undefined }) {
  return scopes === undefined ? {} : { scopes }
}

/** What all that is held may do in the account, and the roles that it has there. */
async function rightsOf(app: AppForTests, { accountId, secrets }: Hoard): Promise<ReadonlySet<string>> {
  const rights = new Set<string>()
  for (const token of secrets) {
    const answer = await app.ask('GET', '/v1/me', { token })
    if (answer.statusCode !== 200 || answer.json().account.id !== accountId) continue
    const { credential, role: as } = answer.json() as { credential: { scopes: string[] }; role: Role | null }
    for (const scope of credential.scopes) rights.add(scope)
    if (as === 'owner') rights.add('being an owner')
  }
  return rights
}

function never(start: string, body: (t: TestContext) => Promise<void>): void {
  test(`TM17, KEY-3: rights never grow along any sequence of calls, beginning with ${start}`, body)
}

for (const start of Object.keys(START)) {
  never(start, async (t) => {
    const app = await openApp(t)
    let steps = 0
    const devices = { left: MAX_DEVICES }
    const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (sequence) => {
      const hoard = await begin(app, start, devices)
      const initial = await rightsOf(app, hoard)
      for (const one of sequence) {
        await take(app, hoard, one)
        steps++
      }
      const grown = [...(await rightsOf(app, hoard))].filter((right) => !initial.has(right))
      assert.deepEqual(grown, [])
    })
    await fc.assert(property, { numRuns: 8 })
    assert.ok(steps > 30)
  })
}
