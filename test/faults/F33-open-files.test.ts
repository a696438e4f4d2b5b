/** F33: a process with 256 open files at most, and more clients than that; a slow test, it starts two gateways. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, errorOf, eventually, hello, send } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const OPEN_FILES = 256
const SOCKETS = 400
const MIB = 1024 * 1024
const WITHIN_MS = 60_000

function residentBytes({ pid }: Gateway): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) * 1024
}

interface Crowd {
  readonly refused: () => number
  leave(): void
}

interface Crowding {
  readonly accepted: number
  /** Asked all the time, so that the connections that are there stay: ours, and the gateway's to the provider. */
  readonly ask: () => Promise<unknown>
}

/** Connections that ask for nothing. Resolves when each of them is there or was refused. */
async function crowd({ port }: Gateway, { accepted, ask }: Crowding): Promise<Crowd> {
  let refused = 0
  const sockets: Socket[] = []
  for (let i = 0; i < SOCKETS; i++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.on('close', () => {
      refused += 1
    })
    socket.resume()
    sockets.push(socket)
  }
  const until = performance.now() + WITHIN_MS
  const isOver = (): boolean => refused >= SOCKETS - accepted && refused > SOCKETS - OPEN_FILES
  while (!isOver() && performance.now() < until) {
    await ask().catch(() => undefined)
    await sleep(10)
  }
  return {
    refused: () => refused,
    leave: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** @param limited Whether the process knows of its limit from the start. */
async function surviving(limited: boolean): Promise<void> {
  const provider = await startFakeProvider(ordinary)
  const options = limited ? { under: ['prlimit', `--nofile=${OPEN_FILES}`] } : {}
  const gateway = await startGateway({ config: oneModel(provider.url), ...options })
  try {
    const account = await gateway.cli('accounts', 'create', '--name', 'crowded')
    const key = await gateway.key('--account', account)
    const ask = () => send(gateway, CHAT, { key, body: hello() })
    assert.equal((await ask()).status, 200)
    if (!limited) execFileSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${OPEN_FILES}`])
    const before = residentBytes(gateway)
    const { refused, leave } = await crowd(gateway, { accepted: limited ? 80 : OPEN_FILES, ask })
    assert.ok(refused() > SOCKETS - OPEN_FILES, `${refused()} were refused`)
    // On connections that are there: served, or told to come back where no file is left for the provider.
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask().catch(() => undefined)))
    for (const answer of answers) {
      if (answer !== undefined && answer.status !== 200)
        assert.match(errorOf(answer).code, /^(provider_error|overloaded)$/)
    }
    assert.ok(answers.some((answer) => answer?.status === 200))
    leave()
    const after = await eventually(
      () =>
        Promise.all(
          Array.from({ length: 20 }, () =>
            ask().then(
              ({ status }) => status,
              () => 0,
            ),
          ),
        ),
      (statuses) => statuses.every((status) => status === 200),
      WITHIN_MS,
    )
    assert.deepEqual(after, Array(20).fill(200))
    assert.equal((await creditAtRest(gateway, { account, key }, WITHIN_MS)).held_usd, 0)
    const rows = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
    assert.equal(rows.filter(({ status }) => status === 'completed').length, provider.calls.length)
    assert.ok((await reconcile(gateway, key)).ok)
    const grown = residentBytes(gateway) - before
    assert.ok(grown < 64 * MIB, `it grew by ${grown} bytes`)
  } finally {
    assert.equal(await gateway.stop(), 0)
    await provider.close()
  }
}

test('F33: with 256 open files, 80 connections are taken, the others are closed, and those that are there are served', () =>
  surviving(true))

test('F33: where the files run out nevertheless, requests are refused, nothing stays reserved, and it recovers', () =>
  surviving(false))
