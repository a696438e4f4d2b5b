import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { completionRecord } from '../../test/support/completions.ts'
import type { AttemptNote, CompletionRecord } from '../domain/completion.ts'

/** What a process writes to its log for completions like these. */
async function linesOf(overs: readonly Partial<CompletionRecord>[]): Promise<readonly Record<string, unknown>[]> {
  const records = overs.map((over) => ({ ...completionRecord(over), costNanoUsd: '1500' }))
  const code = `import { channel } from 'node:diagnostics_channel'
    import { logCompletions, openLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
    const { log, flush } = await openLog({ level: 'info', terminal: false })
    logCompletions(log)
    for (const record of ${JSON.stringify(records)}) channel('turnpike:completion').publish({ record })
    await flush()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('UP-1: the line of a completion names its calls, where there was more to them than an answer', async () => {
  const failed: AttemptNote = { provider: 'a', model: 'm', outcome: 'failed', status: 0, startedMs: 1, durationMs: 2 }
  const answered: AttemptNote = { ...failed, provider: 'b', outcome: 'answered', status: 200, startedMs: 4 }
  const withMore = { ...failed, startedMs: 0.6, credential: 'sk-secret' }
  const [ordinary, repeated] = await linesOf([{}, { attempts: 2, attemptLog: [withMore, answered] }])
  assert.deepEqual(Object.keys(ordinary ?? {}).includes('attemptLog'), false)
  assert.deepEqual([ordinary?.['msg'], ordinary?.['attempts'], repeated?.['attempts']], ['completion', 1, 2])
  assert.deepEqual(repeated?.['attemptLog'], [failed, answered])
})

test('OVL-1: lines that nobody reads take 16 MiB, and more are dropped: the service goes on [limit: unread-log]', async () => {
  const MIB = 1024 * 1024
  const code = `import { openLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
    const { log, flush } = await openLog({ level: 'info', terminal: false })
    for (let line = 0; line < 384; line++) log.info('x'.repeat(${MIB / 16}))
    process.stderr.write('written')
    await flush()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'pipe'] })
  await once(child.stderr, 'data') // it did not wait for whoever reads
  let received = 0
  for await (const bytes of child.stdout) received += bytes.length
  assert.ok(received > 10 * MIB && received <= 17 * MIB, `${received} bytes came`)
})
