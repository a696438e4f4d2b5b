/** Which test files run in one process: its start and the modules that it loads cost more than most files themselves. */
import { openingComment } from './test-passes.ts'
import type { TestGroup, TestTask } from './test-progress.ts'

/** What loads the same modules: the tests of the whole program by their folder, all those beside the sources. */
const KIND = /^test\/[^/]+\//
/** In the comment that a test file begins with: it changes its process, or measures it. */
const ALONE = /\bRuns in a process of its own\b/
/** They look at the processes, files and sockets of the machine, so nothing of another file may be left in theirs. */
const ABOUT_PROCESSES = /(?:^|\/)(?:test\/(?:faults|e2e\/(?:sandbox\/|agents))|scripts\/|bench\/)/
const MOST_FILES = 40
/** Estimated, of a group of more than one file, so that none still runs when all others have ended. */
const MOST_SECONDS = 90

/** Whether a test file, by its full path, runs in a process without other files. */
export function runsAlone(file: string): boolean {
  return ABOUT_PROCESSES.test(file) || ALONE.test(openingComment(file))
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
    if (fits && kindOf(last[0]) === kindOf(task)) last.push(task)
    else made.push([task])
  }
  return made
}

function kindOf({ file }: TestTask): string {
  return KIND.exec(file)?.[0] ?? ''
}

function secondsOf(tasks: readonly TestTask[]): number {
  return tasks.reduce((sum, { seconds }) => sum + seconds, 0)
}
