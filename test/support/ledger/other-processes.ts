/** Processes that share nothing but a database, and ask for holds at the same moment. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { HoldUnit } from '../../../src/features/credit/ledger/unit.ts'

interface HoldRace {
  /** Location of the database. */
  readonly ref: string
  readonly count: number
  /** Of each hold. */
  readonly over?: Partial<Pick<HoldUnit, 'keyId' | 'teamId' | 'subjects' | 'ancestors' | 'outputTokens'>>
}

/** @returns How many holds were granted, and how many refused. */
export async function holdInThreeProcesses(t: TestContext, { ref, count, over = {} }: HoldRace) {
  const share = Math.floor(count / 3)
  const names = ['x', 'y', 'z']
  const others = names.map((name, at) =>
    otherProcess(t, { ref, name, over, count: at === 0 ? count - 2 * share : share }),
  )
  for (const { line } of others) if ((await line()) !== 'ready') throw new Error('A process did not start.')
  for (const { child } of others) child.stdin.write('go')
  const counts = await Promise.all(others.map(async ({ line }) => (await line()).split(' ').map(Number)))
  const [held = 0, refused = 0] = [0, 1].map((at) => counts.reduce((sum, one) => sum + (one[at] ?? 0), 0))
  return { held, refused }
}

function otherProcess(t: TestContext, { ref, name, count, over }: HoldRace & { readonly name: string }) {
  const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { holdUnit } from ${at('./credit-model.ts')}
    import { openLocation } from ${at('../database.ts')}
    import { createCommitter } from ${at('../../../src/features/credit/commit/committer.ts')}
    import { createLedgerStore } from ${at('../../../src/features/credit/ledger/store.ts')}
    const database = await openLocation(${JSON.stringify(ref)})
    const committer = createCommitter({ store: createLedgerStore(database), log: console, requestTimeoutMs: 600_000 })
    console.log('ready')
    process.stdin.once('data', async () => {
      const holds = Array.from({ length: ${count} }, async (_, index) => {
        if (index % 7 === 0) await new Promise(setImmediate)
        return committer.hold(holdUnit({ ...${JSON.stringify(over)}, id: 'chatcmpl-${name}-' + index }))
      })
      const outcomes = await Promise.all(holds)
      console.log(outcomes.filter(({ kind }) => kind === 'held').length, outcomes.filter(({ kind }) => kind === 'refused').length)
      process.exit()
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, line: async () => String((await lines.next()).value) }
}
