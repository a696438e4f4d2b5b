/** Progress of a test run: how much is done, how long the rest takes, and which files are to be begun next. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DialectName } from '../../src/db/database.ts'

/** A test file on one of the databases. */
export interface TestTask {
  /** Relative path. */
  readonly file: string
  readonly dialect: DialectName
  /** Seconds that it took last time, or takes as a rule. */
  readonly seconds: number
  /** It waits for most of its time: for leases, outages and the like to end. */
  readonly waits?: boolean
}

/** Test files that run in one process, one after another, on the same database. */
export interface TestGroup {
  readonly tasks: readonly TestTask[]
  readonly dialect: DialectName
  /** Estimated. */
  readonly seconds: number
}

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Seconds by `dialect:file`. */
export type Durations = Readonly<Record<string, number>>

/** The first that matches; of files that have not run on this machine. */
const USUAL_SECONDS: readonly (readonly [RegExp, number])[] = [
  [/^test\/e2e\/(?:clean-clone|openapi-contract)/, 300],
  [/^test\/(?:faults\/(?:F16-crash-points|F25|rolling-restart)|browser\/(?:pages|operator))/, 180],
  [/^test\/faults\/(?:F05-long|F16|crash-loop|random-scenarios|lapsed|rolling-upgrade|shared-port)/, 120],
  [
    /^test\/e2e\/(?:agents(?:-handed-over|-workers)?\.|crash|linear-(?:requests|time)|hostile-bodies|rights-matrix)/,
    60,
  ],
  [/^test\/(?:e2e\/documentation(?:\.|\/programs)|faults\/budget-levels|browser\/agent)|^scripts\/new-provider/, 60],
  [/^test\/(?:e2e\/agents|browser\/agents|contract\/recordings)|\/spool\/recovery|^scripts\/(?:record|build)/, 30],
  [/^test\/browser\//, 12],
  [/^test\/(?:e2e|faults|webhooks|sandbox|recordings)/, 15],
  [/^src\/cli\//, 5],
  [/^src\/(?:features|jobs|app)\b/, 2],
  [/./, 0.5],
]

export const keyOf = ({ file, dialect }: Pick<TestTask, 'file' | 'dialect'>): string => `${dialect}:${file}`

/** Sorts the longest first, so that none runs alone at the end. */
export function planTasks(tasks: readonly Omit<TestTask, 'seconds'>[], known: Durations): readonly TestTask[] {
  const usual = (file: string) => USUAL_SECONDS.find(([pattern]) => pattern.test(file))?.[1] ?? 1
  return tasks
    .map((task) => ({ ...task, seconds: known[keyOf(task)] ?? usual(task.file) }))
    .sort((one, other) => other.seconds - one.seconds)
}

/** Browsers use every core they get; more at once than this only make each other slow. */
const BROWSERS_AT_ONCE = 2
const usesBrowser = ({ tasks }: TestGroup): boolean => tasks.some(({ file }) => file.startsWith('test/browser/'))
const waits = ({ tasks }: TestGroup): boolean => tasks.every((task) => task.waits === true)
/** Of the place of another group. */
const PLACE_OF_WAITING = 0.5
/** Of all places, while other groups are left to begin. */
const SHARE_OF_WAITING = 0.25

/**
 * Those that wait come in turn with the others, so that the cores are used all the time.
 * @param places For groups at once; one that waits takes half a place, and few run at once while others are left.
 * @returns The index of the waiting group to begin now; -1: none may be begun beside those that are running.
 */
export function nextGroup(waiting: readonly TestGroup[], running: Iterable<TestGroup>, places: number): number {
  const groups = [...running]
  const waitingPlaces = PLACE_OF_WAITING * groups.filter(waits).length
  const freePlaces = places - waitingPlaces - groups.filter((group) => !waits(group)).length
  const browsers = groups.filter(usesBrowser).length
  const othersLeft = waiting.some((group) => !waits(group))
  return waiting.findIndex((group) => {
    if (waits(group))
      return freePlaces >= PLACE_OF_WAITING && (!othersLeft || waitingPlaces < places * SHARE_OF_WAITING)
    return freePlaces >= 1 && (browsers < BROWSERS_AT_ONCE || !usesBrowser(group))
  })
}

export interface Progress extends Totals {
  readonly files: number
  readonly filesDone: number
  readonly secondsOfAll: number
  readonly secondsDone: number
  readonly elapsedSeconds: number
}

/** One line: `42 % · 120 of 571 files · 3120 passed, 0 failed, 0 skipped · 4:10, about 5:40 left`. */
export function progressLine(progress: Progress): string {
  const { files, filesDone, passed, failed, skipped, secondsOfAll, secondsDone, elapsedSeconds } = progress
  const share = secondsOfAll === 0 ? 1 : secondsDone / secondsOfAll
  const left = share < LEAST_SHARE ? '' : `, about ${clock((elapsedSeconds * (1 - share)) / share)} left`
  const totals = `${passed} passed, ${failed} failed, ${skipped} skipped`
  return `${Math.floor(share * 100)} % · ${filesDone} of ${files} files · ${totals} · ${clock(elapsedSeconds)}${left}`
}

/** Before this share is done nothing can be said about the rest. */
const LEAST_SHARE = 0.02

/** @returns `minutes:seconds`. */
function clock(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

/** Nothing known where there is no such file, or another's. */
export function readDurations(path: string): Durations {
  try {
    const entries = Object.entries(JSON.parse(readFileSync(path, 'utf8')))
    return Object.fromEntries(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
  } catch {
    return {}
  }
}

export function writeDurations(path: string, durations: Durations): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(durations))
  } catch {
    // the next run knows less about the time it takes, nothing else
  }
}
