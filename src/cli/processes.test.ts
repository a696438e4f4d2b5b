import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

/** A process that starts while its parent ends: it reports its port after the channel is closed. */
const CHILD = `
import { reportListening } from ${JSON.stringify(import.meta.resolve('./processes.ts'))}
process.on('SIGTERM', () => process.exit(7))
process.once('disconnect', () => setImmediate(() => reportListening(1)))
process.send('ready')
setTimeout(() => process.exit(8), 60_000)
`

test('a process whose parent ends while it starts drains, without an uncaught error', async () => {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD], { stdio: [...stdio] })
  await once(child, 'message')
  child.disconnect()
  assert.deepEqual(await once(child, 'exit'), [7, null])
})
