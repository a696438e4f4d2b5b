/**
 * Imported first by the process of test files: `stdout` is written before `write` returns, since `--test-force-exit` discards
 * what waits. It waits whenever the pipe is full, as it soon is on a busy machine. A blocking pipe would not do: a process
 * that a test starts with the same `stdout` makes it non-blocking for both.
 */
import { writeSync } from 'node:fs'

const PAUSE_MS = 5
const clock = new Int32Array(new SharedArrayBuffer(4))

function writeWhole(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(process.stdout.fd, bytes, at)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EPIPE') return // its reader has ended: listeners of `exit` after this one must run nevertheless
      if (code !== 'EAGAIN') throw error
      Atomics.wait(clock, 0, 0, PAUSE_MS) // full
    }
  }
}

process.stdout._write = (chunk: string | Uint8Array, encoding, done) => {
  writeWhole(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
  done()
}
delete process.stdout._writev
