/** The commands of README.md, docs/command-line.md and docs/devices.md that a person approves. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AccountId, SessionId, UserId } from '../../../src/domain/ids.ts'
import { createActivation } from '../../../src/features/oauth/activation.ts'
import { createClients, DATABASE_TIME } from '../../../src/features/oauth/authority.ts'
import { openLocation, testIds } from '../../support/database.ts'
import { startGateway } from '../../support/gateway.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'
import { ORIGIN, sessionOf } from '../../support/identity/oauth-server.ts'
import { startSecretService } from '../../support/identity/secret-service.ts'

const ADA = 'usr_reader' as UserId
const gateway = await startGateway()
const account = (await gateway.cli('accounts', 'create', '--name', 'devices')) as AccountId
await gateway.cli('credits', 'grant', '--account', account, '--usd', '25')
const key = await gateway.key('--account', account)
const reader = makeReader({ gateway, key, words: { 'https://ai.example.com': gateway.url } })
const { db, close } = await openLocation(gateway.database)
const born = { created_at: 1, changed_at: Date.now() }
await db
  .insertInto('person')
  .values({ id: ADA, email: 'ada@example.com', name: 'Ada', ...born })
  .execute()
await db
  .insertInto('member')
  .values({ account_id: account, user_id: ADA, role: 'developer', ...born })
  .execute()
const keyring = await startSecretService()
after(async () => {
  await keyring.stop()
  reader.remove()
  await close()
  await gateway.stop()
})

/** The person decides at another process of the installation. */
async function approve(userCode: string): Promise<void> {
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

for (const [page, begins] of [
  ['README.md', 'npm run -s turnpike -- login'],
  ['docs/command-line.md', 'turnpike login'],
] as const) {
  test(`${page}: a person signs the command line in, and chats`, async () => {
    const shell = `unset TURNPIKE_API_KEY TURNPIKE_URL\n${blockOf(page, begins).text}`
    const commands = reader.start(shell, keyring.env, 'simulate: say Good morning.')
    try {
      const [, code = ''] = await commands.printed(/enter the code (\S+)/)
      await approve(code)
      await commands.printed(/Signed in to http:\S+ as ada@example\.com[\s\S]*Good morning\./)
      assert.equal(await commands.exited, 0, commands.output())
    } finally {
      await commands.stop('SIGKILL')
    }
  })
}
