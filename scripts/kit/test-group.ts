/**
 * The process of some test files, by their full paths in its arguments: runs them one after another, each as a test with
 * the path as its name and the file's own tests and hooks below it. They share one start and one copy of their modules.
 */
import { relative } from 'node:path'
import { suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'

// All are registered before the first begins: --test-force-exit ends the process when no registered test is left.
for (const file of process.argv.slice(2)) {
  // A suite begins its tests when the whole file has been read, as a process of its own does.
  test(file, () => {
    suite(relative(process.cwd(), file), async () => {
      await import(pathToFileURL(file).href)
    })
  })
}
