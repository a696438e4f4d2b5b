import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../../test/support/database.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { provisionedPerson } from './provision.ts'

const IDENTITY = { issuer: 'https://idp.example', email: 'Ada@example.com', emailVerified: true }
const NONE = () => undefined

async function setUp(t: TestContext) {
  const { db } = await temporaryDatabase(t)
  const addAccount = async (): Promise<AccountId> => {
    const id = testIds.account()
    await db.insertInto('account').values({ id, name: id, plan: 'free', created_at: 1, changed_at: 1 }).execute()
    return id
  }
  const provision = async (accountId: AccountId, email = 'ada@example.com') => {
    const id = testIds.user()
    await db.insertInto('person').values({ id, email, name: 'Ada', created_at: 1, changed_at: 1 }).execute()
    const names = { user_name: email, user_name_lower: email, email_lower: email, external_id: null, resource: '{}' }
    const row = { account_id: accountId, user_id: id, ...names, active: 1 as const, created_at: 1, updated_at: 1 }
    await db.insertInto('scim_user').values(row).execute()
    return id
  }
  return { db, addAccount, provision }
}

test('in an installation with one account a verified address is that of the provisioned person', async (t) => {
  const { db, addAccount, provision } = await setUp(t)
  const ada = await provision(await addAccount())
  assert.equal((await provisionedPerson(db, IDENTITY, NONE))?.userId, ada)
  assert.equal(await provisionedPerson(db, { ...IDENTITY, emailVerified: false }, NONE), undefined)
  await db
    .insertInto('identity')
    .values({ issuer: 'x', subject: 'y', user_id: ada, created_at: 1, last_used_at: 1 })
    .execute()
  assert.equal(await provisionedPerson(db, IDENTITY, NONE), undefined, 'somebody has signed in as her')
})

test('an account cannot receive people of others by provisioning their addresses', async (t) => {
  const { db, addAccount, provision } = await setUp(t)
  const [employer, intruder] = [await addAccount(), await addAccount()]
  await provision(intruder)
  assert.equal(await provisionedPerson(db, IDENTITY, NONE), undefined)
  const trusted = (issuer: string) => (issuer === IDENTITY.issuer ? new Set([employer]) : undefined)
  assert.equal(await provisionedPerson(db, IDENTITY, trusted), undefined)
  const ada = await provision(employer)
  assert.equal((await provisionedPerson(db, IDENTITY, trusted))?.userId, ada, 'the other row does not stand in the way')
  assert.equal(await provisionedPerson(db, { ...IDENTITY, issuer: 'https://other.example' }, trusted), undefined)
})
