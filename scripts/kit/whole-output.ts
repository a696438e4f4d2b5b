/**
 * Preloaded into the process of each test file: what it says is written before it goes on. A process that is ended as soon
 * as its tests have (`--test-force-exit`) would else take with it what the pipe had no room for, tests and all.
 */
interface Blocking {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void } | null
}

for (const stream of [process.stdout, process.stderr] as readonly Blocking[]) stream._handle?.setBlocking?.(true)
