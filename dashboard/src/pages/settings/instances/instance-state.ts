/** The state of each process, and what the list says of all of them. */
import type { paths } from '../../../api/schema.d.ts'
import { plural } from '../../../lib/format.ts'

type Answer = paths['/v1/admin/instances']['get']['responses'][200]['content']['application/json']
export type Instance = Answer['data'][number]
export type AgentsState = paths['/v1/admin/agents']['get']['responses'][200]['content']['application/json']

export type InstanceState = 'running' | 'draining' | 'silent'

/** They report every 5 s; who has missed two reports is not doing well. */
const SILENT_MS = 12_000

/**
 * Times are those of the database's clock, so they are compared with each other and not with the browser's.
 * @param newest The moment of the newest report of all, Unix milliseconds.
 */
export function stateOf({ seen_at: seen, address }: Instance, newest: number): InstanceState {
  if (newest - Date.parse(seen) > SILENT_MS) return 'silent'
  return address === null ? 'draining' : 'running'
}

/** Unix milliseconds. */
export function newestReport(instances: readonly Instance[]): number {
  return Math.max(...instances.map(({ seen_at }) => Date.parse(seen_at)))
}

/** `2 processes run 0.2.0, 1 process runs 0.1.0`; undefined where all run the same. */
export function versionsText(instances: readonly Instance[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { version } of instances) counts.set(version, (counts.get(version) ?? 0) + 1)
  if (counts.size < 2) return undefined
  return [...counts]
    .toSorted(([oneVersion, one], [otherVersion, other]) => other - one || (oneVersion < otherVersion ? -1 : 1))
    .map(([version, count]) => `${plural(count, 'process', 'processes')} ${count === 1 ? 'runs' : 'run'} ${version}`)
    .join(', ')
}
