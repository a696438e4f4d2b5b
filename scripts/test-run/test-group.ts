/**
 * The process of some test files, by their full paths in its arguments: runs them one after another, each as a test with
 * the path as its name and the file's own tests and hooks below it. They share one start and one copy of their modules.
 */
import { relative } from 'node:path'
import { suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { costLine, cpuSeconds } from './process-cpu.ts'
import { trackingPromises } from './promise-hooks.ts'
// Not with `--import`, which every thread that a test starts would run, too.
import './whole-output.ts'

// What tests have started ends in listeners of `exit`, which a signal alone does not call.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

// All are registered before the first begins: --test-force-exit ends the process when no registered test is left.
let cpuBefore = 0
for (const file of process.argv.slice(2)) {
  // A suite begins its tests when the whole file has been read, as a process of its own does.
  test(file, (t) => {
    const startedAt = performance.now()
    // After the file's own hooks, which wait for the end of what it has started.
    t.after(() => {
      const cpu = cpuSeconds()
      t.diagnostic(costLine({ seconds: (performance.now() - startedAt) / 1000, cpuSeconds: cpu - cpuBefore }))
      cpuBefore = cpu
    })
    suite(relative(process.cwd(), file), () => trackingPromises(() => import(pathToFileURL(file).href)))
  })
}
