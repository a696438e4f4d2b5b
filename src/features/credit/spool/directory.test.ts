import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { currentProcess, ownerText, parseOwner, type SpoolOwner, stateOf } from './directory.ts'

const own = currentProcess()

test('a process knows itself and is alive', () => {
  assert.equal(own.pid, process.pid)
  assert.equal(stateOf(own, own), 'alive')
  assert.deepEqual(parseOwner(ownerText(own)), own)
  for (const text of ['', '{}', '[]', '{"pid":1}', '{"pid":"1","version":1}']) assert.equal(parseOwner(text), undefined)
})

test('a process that has ended is dead, also while its parent has not asked for it', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  const owner: SpoolOwner = { ...own, pid: Number(child.pid), startTicks: startTicksOf(Number(child.pid)) }
  assert.equal(stateOf(owner, own), 'alive')
  process.kill(Number(child.pid), 'SIGKILL')
  while (!/\) [ZX] /.test(statOf(Number(child.pid)))); // nothing has been waited for: this turn has not ended
  assert.equal(stateOf(owner, own), 'dead')
  await once(child, 'exit')
  assert.equal(stateOf(owner, own), 'dead')
})

test('a pid that another process has now is not the same process', () => {
  assert.equal(stateOf({ ...own, startTicks: '1' }, own), 'dead')
})

test('what is of another run of the machine, or of another container, cannot be told from here', () => {
  assert.equal(stateOf({ ...own, bootId: 'another' }, own), 'rebooted')
  assert.equal(stateOf({ ...own, pidNamespace: 'pid:[1]' }, own), 'unknown')
})

test('without /proc a pid that is free is dead, and one that is taken may be anybody', () => {
  const bare: SpoolOwner = { ...own, startTicks: undefined, bootId: undefined, pidNamespace: undefined }
  assert.equal(stateOf(bare, bare), 'unknown')
  assert.equal(stateOf({ ...bare, pid: 2 ** 22 + 1 }, bare), 'dead')
})

function statOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
}

function startTicksOf(pid: number): string {
  const text = statOf(pid)
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}
