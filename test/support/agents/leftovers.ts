/** What runs of agents leave behind, on the machine and on the bill. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Employer } from './agent-site.ts'

/** What the completions of an agent's first run come to, and what that run says, in nano-USD. */
export async function billsOf(employer: Employer, id: string): Promise<readonly [number, number]> {
  const run = (await employer.runs(id))[0]
  const { data } = await employer.ask('GET', '/v1/usage/completions?limit=100')
  const rows = data.filter((row: { run_id: string }) => row.run_id === run.id)
  const sum = rows.reduce((total: number, row: { cost_usd: number }) => total + Math.round(row.cost_usd * 1e9), 0)
  return [sum, Math.round(run.usage.cost_usd * 1e9)]
}

/** IDs of the processes that sleep for exactly so many seconds. */
export function sleepersOf(seconds: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${seconds}\0`
    } catch {
      return false // it has ended meanwhile
    }
  })
}

/** Mounts within a data directory: others come and go with other tests. */
export function mountsIn(dataDir: string): readonly string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(dataDir))
}
