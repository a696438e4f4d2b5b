import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startGateway } from '../../test/support/gateway.ts'

const gateway = await startGateway()
after(() => gateway.stop())

test('turnpike ledger recovery lists damaged spools, and what became of what they do not decide', async () => {
  assert.equal(await gateway.cli('ledger', 'recovery'), 'No spool was found damaged.')
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
