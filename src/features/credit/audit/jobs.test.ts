import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { auditedLedger, seedMonths } from '../../../../test/support/ledger/audited-ledger.ts'
import { createIdSource } from '../../../domain/ids.ts'
import { createMetrics } from '../../../telemetry/metrics.ts'
import { eventRecorder } from '../../webhooks/events.ts'
import { auditEverything, auditJobs } from './run.ts'
import { auditStatus } from './store.ts'

test('the weekly audit tells the first account what it finds, and every process shows it in its metrics', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  const { db, now } = ledger
  const operator = await ledger.account('pro')
  await db.insertInto('setting').values({ key: 'first_account', value: operator.id }).execute()
  const recordEvent = eventRecorder({ now, ids: createIdSource(now, randomBytes) })
  const said: string[] = []
  const log = { warn: (_: object, text: string) => said.push(text), info: (_: object, text: string) => said.push(text) }
  const input = { db, now, recordEvent, log }
  const events = () => db.selectFrom('event').select(['account_id', 'type', 'data']).execute()

  await auditEverything(input, {})
  assert.deepEqual(await events(), [])
  await ledger.break(`update credit set spent_nano_usd = 7 where account_id = '${payer.id}'`)
  ledger.clock.now += 1000
  const stopped = await auditEverything(input, { signal: AbortSignal.abort() })
  assert.equal(stopped.endedAt, undefined)
  const ended = await auditEverything(input, { share: 0.5 })
  assert.equal(ended.id, stopped.id, 'it goes on')
  const [event, ...others] = await events()
  assert.deepEqual([others, event?.account_id, event?.type], [[], operator.id, 'ledger.audit'])
  const data = JSON.parse(event?.data ?? '{}')
  assert.deepEqual([data.findings_count, data.counts, data.accounts], [1, { spent: 1 }, 2])
  assert.deepEqual(data.findings, [
    { account_id: payer.id, kind: 'spent', subject: 'credit', expected: '611405', actual: '7' },
  ])
  assert.deepEqual(said, ['the audit of the ledger has no findings', 'the audit of the ledger has findings'])

  const audit = auditStatus(db, () => performance.now())
  while (audit() === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
  const metrics = createMetrics({ active: () => 0, unwritten: () => 0, audit })
  t.after(metrics.close)
  const text = await metrics.render()
  assert.match(text, /^turnpike_ledger_audit_findings 1$/m)
  assert.ok(text.includes(`turnpike_ledger_audit_last_run_timestamp_seconds ${(ended.endedAt ?? 0) / 1000}\n`))
})

test('it is due on Sundays at 03:17', () => {
  const nowhere = undefined as never // a schedule asks nothing
  const kind = auditJobs({ db: nowhere, now: Date.now, recordEvent: nowhere, log: nowhere })['ledger.audit']
  assert.equal(kind?.concurrency, 1)
  assert.equal(kind?.nextAt?.(Date.UTC(2026, 10, 23)), Date.UTC(2026, 10, 29, 3, 17))
})
