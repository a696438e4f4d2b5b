/**
 * slow: each case waits for the lease of a job to run out. A worker of agents that dies by SIGKILL, in each phase of a run.
 * Runs on one database: it is about processes.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CrashPoint } from '../../src/lib/crash-point.ts'
import {
  calls,
  ENDED,
  employerAt,
  pushedFile,
  QUICK_FIX,
  script,
  startAgentSite,
} from '../support/agents/agent-site.ts'
import { billsOf, mountsIn, sleepersOf } from '../support/agents/leftovers.ts'
import { eventually } from '../support/client.ts'
import { crashAt } from './kit/crash.ts'

/** From the death of the worker to the end of the run, JOB-2. */
const ENDS_WITHIN_MS = 90_000
/** What a killed process had under way is settled half a minute after it was last seen. */
const SETTLED_WITHIN_MS = 180_000
/** Seconds that nobody else on this machine sleeps. */
const SLEEP = String(1_000_000 + process.pid)

const site = await startAgentSite({ args: ['--role', 'api'] })
const { gateway } = site
after(async () => {
  await gateway.stop()
  await site.close()
})
const employer = employerAt(() => gateway, await gateway.key())

interface Phase {
  readonly title: string
  readonly prompt: string
  /** Where it dies by itself; otherwise it is killed when `isThere`. */
  readonly point?: CrashPoint
  readonly isThere?: (id: string) => Promise<boolean>
  readonly becomes: 'completed' | 'failed'
}

const assistants = async (id: string) => (await employer.messages(id)).filter(({ kind }) => kind === 'assistant').length

const PHASES: readonly Phase[] = [
  { title: 'before the clone', prompt: QUICK_FIX, point: 'agent_cloning', becomes: 'completed' },
  {
    title: 'in a call of the model',
    prompt: script('simulate: delay 50000', calls('finish', { summary: 'Late.' })),
    isThere: () => employer.asks(),
    becomes: 'failed',
  },
  {
    title: 'in a command',
    prompt: script(calls('shell', { command: 'echo done > done.txt' }), calls('shell', { command: `sleep ${SLEEP}` })),
    isThere: async (id) => (await assistants(id)) === 2 && sleepersOf(SLEEP).length > 0,
    becomes: 'failed',
  },
  { title: 'before the commit', prompt: QUICK_FIX, point: 'agent_committing', becomes: 'failed' },
  { title: 'before the push', prompt: QUICK_FIX, point: 'agent_pushing', becomes: 'failed' },
  { title: 'after the push', prompt: QUICK_FIX, point: 'agent_pushed', becomes: 'failed' },
  { title: 'before the end is written', prompt: QUICK_FIX, point: 'agent_ending', becomes: 'failed' },
]

for (const { title, prompt, point, isThere, becomes } of PHASES) {
  test(`F25, JOB-2: SIGKILL of the worker ${title}: one end, nothing left behind, every call charged once`, async (t) => {
    const doomed = await site.start({ args: ['--role', 'worker'], ...(point && { env: crashAt(point) }) })
    const made = await employer.create(prompt)
    if (isThere !== undefined) {
      assert.ok(await eventually(() => isThere(made.id), Boolean, 120_000), 'the run came to where it is to die')
      doomed.signal('SIGKILL')
    }
    await doomed.exited
    const diedAt = performance.now()
    const next = await site.start({ args: ['--role', 'worker'] })
    t.after(() => next.stop())
    const agent = await employer.until(made.id, ...ENDED)
    const tookMs = performance.now() - diedAt
    assert.deepEqual([agent.status, agent.error?.code], [becomes, becomes === 'failed' ? 'worker_lost' : undefined])
    assert.ok(tookMs < ENDS_WITHIN_MS, `ended after ${tookMs} ms`)
    const ends = (await employer.events(made.id)).filter(
      ({ type, data }) => type === 'status' && data.status !== 'queued',
    )
    assert.deepEqual(
      ends.map(({ data }) => data.status),
      ['running', becomes],
    )
    assert.deepEqual([sleepersOf(SLEEP), mountsIn(gateway.dataDir)], [[], []])
    const bills = () => billsOf(employer, made.id)
    const [charged, counted] = await eventually(bills, ([one, other]) => one === other && one > 0, SETTLED_WITHIN_MS)
    assert.ok(charged > 0)
    assert.equal(counted, charged)
    await employer.ask('POST', `/v1/agents/${made.id}/followup`, {
      prompt: script(calls('finish', { summary: 'Went on.' })),
    })
    const after = await employer.until(made.id, ...ENDED)
    assert.equal(after.status, 'completed', JSON.stringify(after))
    if (prompt === QUICK_FIX) assert.match(pushedFile(site.origin, after.branch, 'add.sh') ?? '', /\$1 \+ \$2/)
    console.log(`${title}: ended as ${becomes} after ${Math.round(tookMs)} ms, charged ${charged} nano-USD`)
  })
}
