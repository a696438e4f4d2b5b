/**
 * Preloaded into the process of each test file: makes its output synchronous. Otherwise `--test-force-exit` would discard
 * output that does not fit into the pipe.
 */
interface Blocking {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void } | null
}

for (const stream of [process.stdout, process.stderr] as readonly Blocking[]) stream._handle?.setBlocking?.(true)
