/** Minutes, so it is slow: a gateway is killed again and again, under load. */
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dialect } from '../support/database.ts'
import type { Gateway } from '../support/gateway.ts'
import { assertSound, printVerdict, startCrashLoop } from './kit/crash-loop.ts'

/**
 * Each costs a start under full load, and each run has moments of its own: a moment that loses a charge is found by one of
 * many runs, the named points by every one. On PostgreSQL half as many will do, for what dies is the same. `KILLS=1000` for
 * a long run.
 */
const KILLS = Number(process.env['KILLS'] ?? (dialect === 'postgres' ? 4 : 8))
const LONGEST_MS = 400
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)

/** Of a 32-bit state, so that a run can be had again by its seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test(`F16, INV-1 … INV-8: killed at ${KILLS} random moments under load (seed ${SEED})`, async (t) => {
  const random = seeded(SEED)
  const loop = await startCrashLoop()
  t.after(() => loop.close())
  for (let round = 0; round < KILLS; round++) {
    const kill = async (_: Gateway, answered: Promise<void>): Promise<void> => {
      // On a busy machine none may be answered within the time: half of the moments begin with the first answer.
      if (round % 2 === 1) await answered
      await sleep(random() * LONGEST_MS)
    }
    await loop.round('random moments', { kill })
  }
  const verdict = await loop.verify()
  printVerdict(`${KILLS} random moments, seed ${SEED}`, verdict)
  assertSound(verdict)
})
