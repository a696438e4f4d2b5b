/** The commands of docs/devices.md, with a person who approves. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AccountId, SessionId, UserId } from '../../../src/domain/ids.ts'
import { createActivation } from '../../../src/features/oauth/activation.ts'
import { createClients, DATABASE_TIME } from '../../../src/features/oauth/authority.ts'
import { openLocation, testIds } from '../../support/database.ts'
import { startGateway } from '../../support/gateway.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'
import { ORIGIN, sessionOf } from '../../support/identity/oauth-server.ts'

const ADA = 'usr_reader' as UserId
const gateway = await startGateway()
const account = (await gateway.cli('accounts', 'create', '--name', 'devices')) as AccountId
const reader = makeReader({ gateway, key: await gateway.key('--account', account) })
const { db, close } = await openLocation(gateway.database)
after(async () => {
  reader.remove()
  await close()
  await gateway.stop()
})

/** The person decides at another process of the installation. */
async function approve(userCode: string): Promise<void> {
  const born = { created_at: 1, changed_at: Date.now() }
  const person = { id: ADA, email: 'ada@example.com', name: 'Ada', ...born }
  await db.insertInto('person').values(person).execute()
  await db
    .insertInto('member')
    .values({ account_id: account, user_id: ADA, role: 'developer', ...born })
    .execute()
  const activation = createActivation({
    ...{ db, ids: testIds, time: DATABASE_TIME, clients: createClients([]), rotationKey: new Uint8Array(32) },
    ...{ writeAudit: async () => undefined, changed: () => undefined, log: { warn: () => undefined } },
  })
  const session = sessionOf({ id: testIds.session() as SessionId, userId: ADA, accountId: account, role: 'developer' })
  assert.equal(await activation.decide(userCode, { approve: true, session, origin: ORIGIN }), true)
}

const PAGE = 'docs/devices.md'
const [exchange, refresh] = ['-d device_code', '-d grant_type=refresh_token'].map(
  (part) => blockOf(PAGE, 'curl http://localhost:7575/oauth/token', part).text,
)

async function json(text = '', env: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, string>>> {
  const { code, output } = await reader.sh(text, env)
  assert.equal(code, 0, output)
  return JSON.parse(output)
}

test('docs/devices.md: a code, its tokens once a person has approved, and their refresh', async () => {
  const begun = await json(blockOf(PAGE, 'curl http://localhost:7575/device/code').text)
  const env = { DEVICE_CODE: begun['device_code'] ?? '' }
  await approve(begun['user_code'] ?? '')
  const tokens = await json(exchange, env)
  const renewed = await json(refresh, { REFRESH_TOKEN: tokens['refresh_token'] ?? '' })
  assert.notEqual(renewed['access_token'], tokens['access_token'])
  const headers = { authorization: `Bearer ${renewed['access_token']}` }
  assert.equal((await fetch(`${gateway.url}/v1/models`, { headers })).status, 200)
})
