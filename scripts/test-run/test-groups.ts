/** Which test files run in one process: its start and the modules that it loads cost more than most files themselves. */
import { openingComment } from './test-passes.ts'
import type { TestGroup, TestTask } from './test-progress.ts'

/** Tests of the whole program wait for other processes most of the time, so they wait beside each other. */
const MODULE_TEST = /(?:^|\/)(?:src|packages|catalogue|dashboard\/src)\/(?:[^/]+\/)*[^/]+\.test\.ts$/
/** In the comment that a test file begins with: it changes its process, or measures it. */
const ALONE = /\bRuns in a process of its own\b/
const MOST_FILES = 20
/** Estimated, of a group of more than one file, so that none still runs when all others have ended. */
const MOST_SECONDS = 20

/** Whether a test file, by its full path, runs in a process without other files. */
export function runsAlone(file: string): boolean {
  return !MODULE_TEST.test(file) || ALONE.test(openingComment(file))
}

/** Neighbours share a process, since they load the same modules. Returns the longest group first. */
export function formGroups(tasks: readonly TestTask[], isAlone: (task: TestTask) => boolean): readonly TestGroup[] {
  const inOrder = tasks.toSorted((one, other) => (one.file < other.file ? -1 : 1))
  const [alone, together] = [inOrder.filter(isAlone), inOrder.filter((task) => !isAlone(task))]
  const shared = (['sqlite', 'postgres'] as const).flatMap((dialect) =>
    chunks(together.filter((task) => task.dialect === dialect)),
  )
  return [...alone.map((task) => [task] as const), ...shared]
    .map((members) => ({ tasks: members, dialect: members[0].dialect, seconds: secondsOf(members) }))
    .toSorted((one, other) => other.seconds - one.seconds)
}

type Members = readonly [TestTask, ...TestTask[]]

function chunks(tasks: readonly TestTask[]): readonly Members[] {
  const made: [TestTask, ...TestTask[]][] = []
  for (const task of tasks) {
    const last = made.at(-1)
    const fits = last !== undefined && last.length < MOST_FILES && secondsOf(last) + task.seconds <= MOST_SECONDS
    if (fits) last.push(task)
    else made.push([task])
  }
  return made
}

function secondsOf(tasks: readonly TestTask[]): number {
  return tasks.reduce((sum, { seconds }) => sum + seconds, 0)
}
