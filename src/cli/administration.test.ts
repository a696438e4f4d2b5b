import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  dialect,
  environmentOf,
  locationFor,
  postgresTest,
  sqliteTest,
  temporaryDatabase,
  temporaryLocation,
} from '../../test/support/database.ts'
import { type CommandResult, runCommandHere } from '../../test/support/process/command-in-process.ts'
import type { UserId } from '../domain/ids.ts'
import { createAuthenticator } from '../features/keys/authenticator.ts'
import { keyForm } from '../features/keys/key.ts'

const COMMAND = fileURLToPath(new URL('../../bin/turnpike.js', import.meta.url))

/** The command line with a data directory of the test's own, which does not exist yet. */
async function installation(t: TestContext, at?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  await writeFile(join(folder, 'turnpike.yaml'), 'accounts: { default_plan: pro }\n')
  const place = at ?? (await locationFor(t, dataDir))
  const env = { PATH: '', TURNPIKE_DATA_DIR: dataDir, NO_COLOR: '1', ...environmentOf(place) }
  const ownProcess = (...words: string[]): Promise<CommandResult> =>
    new Promise((resolve) => {
      execFile(process.execPath, [COMMAND, ...words], { cwd: folder, env }, (error, out, errors) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, error: errors }),
      )
    })
  const turnpike = (...words: string[]): Promise<CommandResult> => runCommandHere(words, { cwd: folder, env })
  const json = async (...words: string[]) => JSON.parse((await turnpike(...words, '--json')).out)
  return { dataDir, path: place, turnpike, ownProcess, json }
}

test('keys create works before the first start, and prints only the key', async (t) => {
  const { dataDir, path, ownProcess, json } = await installation(t)
  const { code, out, error } = await ownProcess('keys', 'create', '--name', 'first')
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, new RegExp(`${keyForm.pattern.source.slice(0, -1)}\\n$`))
  if (dialect === 'sqlite') assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
  const accounts = await json('accounts', 'list')
  assert.deepEqual(
    accounts.data.map(({ plan }: { plan: string }) => plan),
    ['pro'],
  )
  const { db, batch, onChange } = await temporaryDatabase(t, path)
  const authenticator = createAuthenticator({ db, batch, onChange, now: Date.now })
  const { accountId, plan } = await authenticator.authenticate(`Bearer ${out.trim()}`, '127.0.0.1')
  assert.deepEqual([accountId, plan], [accounts.data[0].id, 'pro'])
  await authenticator.close()
})

test('teams are created, filled and archived; a key can be made for one', async (t) => {
  const { path, turnpike, json } = await installation(t)
  const created = await turnpike('teams', 'create', '--name', 'Search', '--models', 'm1', '--endpoints', 'chat,agents')
  assert.deepEqual([created.code, created.error], [0, ''])
  const id = created.out.trim()
  const [team] = (await json('teams', 'list')).data
  assert.deepEqual([team.id, team.name, team.models, team.endpoints], [id, 'Search', ['m1'], ['chat', 'agents']])
  const secret = (await turnpike('keys', 'create', '--name', 'k', '--team', id)).out.trim()
  const { db, batch, onChange } = await temporaryDatabase(t, path)
  const authenticator = createAuthenticator({ db, batch, onChange, now: Date.now })
  const { accountId, teamId, models } = await authenticator.authenticate(`Bearer ${secret}`, '127.0.0.1')
  assert.deepEqual([teamId, models], [id, new Set(['m1'])])
  const user = { id: 'usr_1' as UserId, email: 'ada@example.com', name: 'Ada', created_at: 1, changed_at: 1 }
  await db.insertInto('person').values(user).execute()
  const member = { account_id: accountId, user_id: user.id, role: 'developer', created_at: 1, changed_at: 1 } as const
  await db
    .insertInto('member')
    .values({ ...member, removed_at: null })
    .execute()
  assert.equal((await turnpike('teams', 'add', 'Search', 'ada@example.com', '--role', 'admin')).code, 0)
  assert.equal((await turnpike('keys', 'create', '--name', 'k2', '--team', 'Search')).code, 0)
  assert.equal((await turnpike('teams', 'create', '--name', 'Search')).code, 0)
  assert.match((await turnpike('teams', 'members', 'Search')).error, /Several teams have the name 'Search': team_/)
  const [inTeam] = (await json('teams', 'members', id)).data
  assert.deepEqual([inTeam.id, inTeam.role], ['usr_1', 'admin'])
  assert.match((await turnpike('teams', 'add', id, 'eve@example.com')).error, /no member 'eve@example.com'/)
  const inOne = { id: 'usr_1', object: 'team_member', team_id: id }
  assert.deepEqual(await json('teams', 'add', id, 'usr_1'), { ...inOne, role: 'member' })
  assert.deepEqual(await json('teams', 'remove', id, 'usr_1'), { ...inOne, deleted: true })
  assert.equal((await turnpike('teams', 'create', '--name', 'x', '--endpoints', 'tea')).code, 2)
  const { archived_at: archivedAt, ...archived } = await json('teams', 'archive', id)
  assert.deepEqual([archived.id, typeof archivedAt], [id, 'string'])
  assert.match((await turnpike('teams', 'update', id, '--name', 'Late')).error, /is archived/)
  await authenticator.refresh()
  await assert.rejects(async () => authenticator.authenticate(`Bearer ${secret}`, '127.0.0.1'), { status: 401 })
  assert.match((await turnpike('keys', 'create', '--name', 'k', '--team', id)).error, /is archived/)
  await authenticator.close()
})

const LISTS = ['accounts list', 'keys list', 'teams list', 'teams members Search', 'budgets list', 'ledger recovery']

test('lists fit 100 columns however long names are, and are one line of JSON in the form of a page', async (t) => {
  const { turnpike } = await installation(t)
  const long = 'a long name '.repeat(8).trim()
  for (const words of [
    ['accounts', 'create', '--name', long],
    ['keys', 'create', '--name', long, '--scopes', 'chat,models:read,usage:read,agents:read'],
    ['teams', 'create', '--name', 'Search', '--models', `m1,${'m'.repeat(90)}`],
    ['budgets', 'set', '--budget', '123456.789/quarter', '--timezone', 'America/Argentina/Buenos_Aires'],
    ['budgets', 'set', '--level', 'key', '--subject', long, '--budget', '0.000000001/day'],
    ['budgets', 'set', '--level', 'tag', '--subject', `customer=${'x'.repeat(60)}`, '--budget', '1/week'],
  ])
    assert.equal((await turnpike(...words)).code, 0, words.join(' '))
  for (const words of [...LISTS, 'config explain', 'ledger audit', 'credits show'].map((each) => each.split(' '))) {
    const { code, out, error } = await turnpike(...words)
    assert.deepEqual([code, error], [0, ''], words.join(' '))
    for (const line of out.split('\n')) assert.ok(line.length <= 100, `${words.join(' ')}: ${line}`)
    const json = (await turnpike(...words, '--json')).out
    assert.match(json, /^\{.*\}\n$/, words.join(' '))
    if (!LISTS.includes(words.join(' '))) continue
    const { data, ...rest } = JSON.parse(json)
    assert.ok(Array.isArray(data))
    assert.deepEqual(rest, { has_more: false, next_cursor: null }, words.join(' '))
  }
})

test('teams update changes the settings that it names, tags and required tags among them, and removes with an empty value', async (t) => {
  const { turnpike, json } = await installation(t)
  const tags = ['--tags', 'department=search, env=prod', '--require-tags', 'customer,project']
  const { id, ...made } = await json('teams', 'create', '--name', 'Search', '--models', 'm1', ...tags)
  const settings = { tags: { department: 'search', env: 'prod' }, require_tags: ['customer', 'project'] }
  assert.deepEqual({ tags: made.tags, require_tags: made.require_tags }, settings)
  const changed = await json('teams', 'update', id, '--name', 'Find', '--requests-per-minute', '9', '--tags', 'env=dev')
  const more = { name: 'Find', requests_per_minute: 9, tags: { env: 'dev' } }
  assert.deepEqual(changed, { ...made, id, ...more })
  const emptied = ['--requests-per-minute', '', '--tags', '', '--require-tags', '', '--models', '']
  assert.equal((await turnpike('teams', 'update', id, ...emptied)).out, 'Changed Find.\n')
  const nothing = { requests_per_minute: null, tags: {}, require_tags: [], models: [] }
  assert.deepEqual((await json('teams', 'list')).data, [{ ...made, id, name: 'Find', ...nothing }])
  const policies = [
    [['--zdr', '--regions', 'eu,ch'], { zdr: true, regions: ['eu', 'ch'] }],
    [['--data-collection', 'deny'], { data_collection: 'deny' }],
    [['--name', 'Find'], { data_collection: 'deny' }],
    [['--regions', ''], null],
  ] as const
  for (const [options, policy] of policies)
    assert.deepEqual((await json('teams', 'update', id, ...options)).data_policy, policy, options.join(' '))
  assert.deepEqual((await json('teams', 'create', '--name', 'EU', '--regions', 'eu')).data_policy, { regions: ['eu'] })
  for (const wrong of [['--tags', 'env'], ['--tags', 'a=1,a=2'], ['--require-tags', 'A b'], []]) {
    assert.equal((await turnpike('teams', 'update', id, ...wrong)).code, 2, wrong.join(' '))
  }
})

test('SUP-3: the audit log has changes of the command line, without secrets', async (t) => {
  const { path, turnpike, json } = await installation(t)
  const account = (await turnpike('accounts', 'create', '--name', 'team')).out.trim()
  const made = await json('keys', 'create', '--name', 'first', '--account', account, '--scopes', 'chat')
  await turnpike('keys', 'revoke', made.id)
  await turnpike('accounts', 'set-plan', account, 'free')
  await turnpike('credits', 'grant', '--account', account, '--usd', '1.5', '--note', 'welcome')
  const { url: link, expires_at: linkExpiresAt } = await json('login-link')
  assert.ok(Date.parse(linkExpiresAt) > Date.now())
  const { db } = await temporaryDatabase(t, path)
  const rows = await db.selectFrom('audit').selectAll().orderBy('id').execute()
  assert.deepEqual(
    rows.map(({ action, subject, details }) => [action, subject, JSON.parse(details)]),
    [
      ['account.created', account, { name: 'team', plan: 'pro' }],
      ['key.created', made.id, { name: 'first', scopes: ['chat'], last4: made.last4 }],
      ['key.revoked', made.id, {}],
      ['account.changed', account, { plan: 'free' }],
      ['credit.given', account, { kind: 'grant', usd: 1.5, note: 'welcome' }],
      ['sign_in_link.created', null, {}],
    ],
  )
  for (const row of rows) {
    assert.deepEqual([row.actor_kind, row.actor_id, row.address, row.result], ['command_line', null, null, 'done'])
  }
  assert.ok(!JSON.stringify(rows).includes(made.key) && !JSON.stringify(rows).includes(link.split('=')[1] ?? ''))
})

test('every flag of keys create sets a field of the key', async (t) => {
  const { json, turnpike } = await installation(t)
  const before = Date.now()
  const flags = [
    '--scopes',
    'chat,webhooks',
    '--ip-allowlist',
    '10.0.0.0/8,::1',
    '--expires-in',
    '30d',
    '--models',
    'a,b/c',
  ]
  const limits = ['--monthly-budget-usd', '12.5', '--requests-per-minute', '7', '--operator']
  const made = await json('keys', 'create', '--name', 'full', ...flags, ...limits)
  const { key, ...view } = made
  assert.match(key, keyForm.pattern)
  assert.deepEqual(made.scopes, ['chat', 'webhooks', 'operator'])
  assert.deepEqual(
    [made.ip_allowlist, made.models],
    [
      ['10.0.0.0/8', '::1'],
      ['a', 'b/c'],
    ],
  )
  assert.deepEqual([made.monthly_budget_usd, made.requests_per_minute], [12.5, 7])
  const lastsMs = Date.parse(made.expires_at) - before
  assert.ok(lastsMs >= 30 * 86_400_000 && lastsMs < 31 * 86_400_000)
  assert.deepEqual(await json('keys', 'list'), { data: [view], has_more: false, next_cursor: null })
  const { out } = await turnpike('keys', 'list')
  assert.ok(out.includes(made.id) && out.includes('full') && !out.includes(key))
})

test('--operator alone grants full access and operator', async (t) => {
  const { json } = await installation(t)
  const { scopes } = await json('keys', 'create', '--name', 'o', '--operator')
  assert.ok(scopes.includes('operator') && scopes.includes('chat') && scopes.includes('keys'))
})

test('a key is created for the named account, and revoked by its ID', async (t) => {
  const { json, turnpike } = await installation(t)
  const { code, out } = await turnpike('accounts', 'create', '--name', 'team', '--plan', 'free')
  assert.equal(code, 0)
  const account = out.trim()
  assert.match(out, /^acc_[0-9A-Za-z]{20,}\n$/)
  const { id } = await json('keys', 'create', '--name', 'x', '--account', account)
  assert.deepEqual((await json('keys', 'list')).data, [])
  assert.equal((await json('keys', 'list', '--account', account)).data[0].id, id)
  assert.equal((await turnpike('keys', 'revoke', id)).code, 0)
  assert.ok((await json('keys', 'list', '--account', account)).data[0].revoked_at !== null)
  assert.equal((await turnpike('keys', 'revoke', id)).code, 1)
  assert.equal((await json('accounts', 'set-plan', account, 'pro')).plan, 'pro')
  assert.equal((await json('accounts', 'set-overrun', account, '0.25')).max_overrun_usd, 0.25)
  assert.match((await turnpike('accounts', 'set-overrun', account, '0')).out, /overrun cap of \$0\./)
  assert.equal((await json('accounts', 'set-overrun', account, 'default')).max_overrun_usd, null)
})

test('unknown objects exit with 1, wrong usage with 2, each with one line that states the reason', async (t) => {
  const { turnpike } = await installation(t)
  const cases: readonly [number, RegExp, ...string[]][] = [
    [1, /Key key_x does not exist/, 'keys', 'revoke', 'key_x'],
    [1, /Account acc_x does not exist/, 'keys', 'create', '--name', 'x', '--account', 'acc_x'],
    [1, /Account acc_x does not exist/, 'accounts', 'set-plan', 'acc_x', 'free'],
    [2, /does not exist.*free, pro, unlimited/, 'accounts', 'create', '--name', 'x', '--plan', 'gold'],
    [2, /unknown scope 'everything'\. Allowed: chat/, 'keys', 'create', '--name', 'x', '--scopes', 'everything'],
    [2, /--operator/, 'keys', 'create', '--name', 'x', '--scopes', 'operator'],
    [1, /Account acc_x does not exist/, 'accounts', 'set-overrun', 'acc_x', '1'],
    [2, /dollars from 0/, 'accounts', 'set-overrun', 'acc_x', '1.0000000001'],
    [2, /CIDR/, 'keys', 'create', '--name', 'x', '--ip-allowlist', '10.0.0.0/99'],
    [2, /at least 1/, 'keys', 'create', '--name', 'x', '--requests-per-minute', '0'],
  ]
  for (const [expected, message, ...words] of cases) {
    const { code, out, error } = await turnpike(...words)
    assert.deepEqual([code, out], [expected, ''], words.join(' '))
    assert.match(error, message)
    assert.equal(error.trimEnd().split('\n').length, 1, error)
  }
})

sqliteTest('migrate says what it applies; with --dry-run it makes nothing', async (t) => {
  const { path, turnpike } = await installation(t)
  assert.match(
    (await turnpike('migrate', '--dry-run')).out,
    /^would apply 0001-.*\ncreate [\s\S]*\nAll of it is one transaction/,
  )
  await assert.rejects(stat(path), { code: 'ENOENT' })
  assert.match((await turnpike('migrate')).out, /^applied 0001-/)
  assert.equal((await turnpike('migrate')).out, 'The schema is current.\n')
})

postgresTest(
  'a Postgres is changed by migrate alone: other commands say what it lacks, and --dry-run makes nothing',
  async (t) => {
    const { turnpike, ownProcess } = await installation(t, await temporaryLocation(t))
    const refused = await ownProcess('keys', 'list')
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.error, /lacks 0001-first-schema, .* Run 'turnpike migrate'/)
    assert.match(
      (await turnpike('migrate', '--dry-run')).out,
      /^would apply 0001-.*\ncreate [\s\S]*\nAll of it is one transaction/,
    )
    assert.equal((await turnpike('keys', 'list')).code, 1)
    const applied = await Promise.all([ownProcess('migrate'), ownProcess('migrate')])
    assert.equal(applied.filter(({ out }) => out.startsWith('applied 0001-')).length, 1)
    assert.equal((await turnpike('migrate')).out, 'The schema is current.\n')
    assert.equal((await turnpike('keys', 'list')).code, 0)
  },
)

test('login-link prints only a link to the public URL', async (t) => {
  const { turnpike } = await installation(t)
  const { out } = await turnpike('login-link')
  assert.match(out, /^http:\/\/localhost:7575\/app\/sign-in#token=[\w-]{43}\n$/)
})

test('commands work concurrently, and while another process has the database open', async (t) => {
  const { path, turnpike, ownProcess, json } = await installation(t)
  await turnpike('migrate')
  await temporaryDatabase(t, path)
  const ended = await Promise.all(['a', 'b', 'c', 'd'].map((name) => ownProcess('keys', 'create', '--name', name)))
  assert.deepEqual(
    ended.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  assert.equal((await json('keys', 'list')).data.length, 4)
  assert.equal((await json('accounts', 'list')).data.length, 1)
})
