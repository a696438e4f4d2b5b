import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { environmentOf, locationFor, openLocation } from '../../test/support/database.ts'
import { runCommandHere } from '../../test/support/process/command-in-process.ts'

test('budgets are set, listed, raised with a reason and removed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'turnpike.yaml'), 'accounts: { default_plan: free }')
  const place = await locationFor(t, join(folder, 'data'))
  const env = { PATH: '', TURNPIKE_DATA_DIR: join(folder, 'data'), NO_COLOR: '1', ...environmentOf(place) }
  const turnpike = (...words: string[]) => runCommandHere(words, { cwd: folder, env })
  const json = async (...words: string[]) => {
    const { code, out, error } = await turnpike(...words, '--json')
    assert.equal(code, 0, error)
    return JSON.parse(out)
  }
  const zone = ['--timezone', 'Europe/Berlin']
  const set = await json('budgets', 'set', '--budget', '500/month', '--budget', '0.000000001/day', ...zone)
  assert.deepEqual(
    set.data.map((each: Record<string, unknown>) => [each['level'], each['usd'], each['window'], each['timezone']]),
    [
      ['account', 500, 'month', 'Europe/Berlin'],
      ['account', 1e-9, 'day', 'Europe/Berlin'],
    ],
  )
  const tag = ['--level', 'tag', '--subject', 'customer=acme']
  const { data: tagged } = await json('budgets', 'set', ...tag, '--budget', '20/week', '--warn')
  assert.deepEqual([tagged[0].action, tagged[0].subject], ['warn', 'customer=acme'])
  const [{ id }] = set.data
  const raised = await json('budgets', 'raise', id, '--usd', '100', '--for', '3d', '--reason', 'launch')
  assert.deepEqual([raised.data[0].limit_usd, raised.data[0].raises[0].reason], [600, 'launch'])
  const listed = await turnpike('budgets', 'list')
  assert.match(listed.out, new RegExp(`^${id}  account  Default +\\$600/month +\\$0.00 +block`, 'm'))
  assert.equal((await json('budgets', 'set', ...tag)).data.length, 0)
  for (const wrong of [
    ['--budget', '5/year'],
    ['--budget', 'five/day'],
    ['--level', 'organisation'],
  ])
    assert.equal((await turnpike('budgets', 'set', ...wrong)).code, 2, wrong.join(' '))
  const unknown = await turnpike('budgets', 'set', '--level', 'key', '--subject', 'key_none', '--budget', '1/day')
  assert.match(unknown.error, /Key key_none does not exist/)
  await turnpike('keys', 'create', '--name', 'production')
  const team = (await turnpike('teams', 'create', '--name', 'Search')).out.trim()
  const [key] = (await json('keys', 'list')).data
  for (const [level, name, subject] of [
    ['key', 'production', key.id],
    ['team', 'Search', team],
  ]) {
    const named = ['--level', level, '--subject', name, '--budget', '1234.5/day']
    assert.deepEqual((await json('budgets', 'set', ...named)).data[0].subject, subject)
    assert.match((await turnpike('budgets', 'list')).out, new RegExp(`  ${level} +${name} +\\$1,234.50/day`))
  }
  assert.match(
    (await turnpike('budgets', 'raise', 'bud_x', '--usd', '1', '--for', '1d', '--reason', 'r')).error,
    /does not exist/,
  )
  const { db, close } = await openLocation(place)
  t.after(close)
  const audited = await db.selectFrom('audit').select(['action', 'actor_kind']).orderBy('id').execute()
  assert.ok(audited.some(({ action, actor_kind }) => action === 'budget.raised' && actor_kind === 'command_line'))
})
