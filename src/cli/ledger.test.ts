import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { environmentOf, locationFor } from '../../test/support/database.ts'
import { startGateway } from '../../test/support/gateway.ts'
import { auditedLedger, seedMonths } from '../../test/support/ledger/audited-ledger.ts'

const COMMAND = fileURLToPath(new URL('../../bin/turnpike.js', import.meta.url))

test('ledger audit: a table and exit code 1 for findings, otherwise 0', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const data = join(folder, 'data')
  const place = await locationFor(t, data)
  const env = { PATH: '', TURNPIKE_DATA_DIR: data, NO_COLOR: '1', ...environmentOf(place) }
  const audit = (...words: string[]): Promise<{ code: number; out: string; error: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, [COMMAND, 'ledger', 'audit', ...words], { cwd: folder, env }, (error, out, errors) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, error: errors }),
      )
    })
  const ledger = await auditedLedger(t, place)
  const payer = await seedMonths(ledger)
  const well = await audit()
  assert.deepEqual([well.code, well.error], [0, ''], well.out)
  assert.match(well.out, /^No findings: \d+ rows of 1 accounts in [\d.]+ s\.\n$/)

  await ledger.break(`update credit set spent_nano_usd = 7 where account_id = '${payer.id}'`)
  const wrong = await audit('--account', 'on free')
  assert.equal(wrong.code, 1)
  assert.match(wrong.out, /^ACCOUNT +FINDING +OF +EXPECTED +ACTUAL\n/)
  assert.match(wrong.out, /^on free +spent +credit +611405 +7$/m)
  assert.match(wrong.out, /^1 findings: \d+ rows of 1 accounts/m)
  const json = await audit('--json')
  assert.equal(json.code, 1)
  const body = JSON.parse(json.out)
  assert.deepEqual([body.status, body.accounts, body.findings_count], ['complete', 1, 1])
  assert.deepEqual(body.findings, [
    { account_id: payer.id, kind: 'spent', subject: 'credit', expected: '611405', actual: '7' },
  ])
  const since = await audit('--from', '2026-06-01', '--json')
  assert.deepEqual(
    [since.code, JSON.parse(since.out).findings],
    [0, []],
    'what is spent is not recomputed from the middle',
  )
  const unknown = await audit('--account', 'acc_none')
  assert.deepEqual([unknown.code, /Account acc_none does not exist/.test(unknown.error)], [1, true])
})

const gateway = await startGateway()
after(() => gateway.stop())

test('turnpike ledger recovery lists damaged spools, and the state of their undecided requests', async () => {
  assert.equal(await gateway.cli('ledger', 'recovery'), 'No damaged spools.')
  const directory = join(gateway.dataDir, 'spool', 'ins_gone.damaged')
  await mkdir(directory, { recursive: true })
  const undecided = [{ account: 'acc_1', completion: 'chatcmpl-1' }]
  const report = {
    instance: 'ins_gone',
    found_at: '2026-11-20T00:00:00.000Z',
    problems: ['settled: segment 1 is missing'],
    undecided,
  }
  await writeFile(join(directory, 'report.json'), JSON.stringify(report))
  const { data } = JSON.parse(await gateway.cli('ledger', 'recovery', '--json'))
  const fate = { ...undecided[0], state: 'released', usage_source: null, cost_usd: null }
  assert.deepEqual(data, [{ path: directory, ...report, undecided: [fate] }])
  assert.match(await gateway.cli('ledger', 'recovery'), /segment 1 is missing\n.*\nchatcmpl-1 +acc_1 +released/)
})
