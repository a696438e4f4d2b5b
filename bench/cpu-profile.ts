/** Reads V8's CPU profiles. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[]
}

/** Returns lines `share  function  location` of the functions with the most self time, over all profiles of a folder. */
export function topFunctions(folder: string, count: number): string[] {
  const self = new Map<string, number>()
  for (const file of globSync('*.cpuprofile', { cwd: folder })) {
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
    const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
    for (const [at, id] of profile.samples.entries()) {
      const name = names.get(id) ?? ''
      if (name.startsWith('(idle)') || name.startsWith('(program)')) continue
      self.set(name, (self.get(name) ?? 0) + (profile.timeDeltas[at] ?? 0))
    }
  }
  const total = [...self.values()].reduce((sum, us) => sum + us, 0)
  const sorted = [...self].sort(([, a], [, b]) => b - a).slice(0, count)
  return sorted.map(([name, us]) => `${((100 * us) / total).toFixed(1).padStart(5)} %  ${name}`)
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const location = url === '' ? '' : `  ${url.replace(/^.*\/(?=(src|node_modules)\/)/, '')}:${lineNumber + 1}`
  return `${functionName === '' ? '(anonymous)' : functionName}${location}`
}
