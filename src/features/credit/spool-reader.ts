/** Reads what another process has left in its spool. */
import { appendFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLine, splitLines } from '../../lib/checked-line.ts'
import { COMPLETE_FILE, DISPATCH_LOG, MONEY_LOG, OWNER_FILE } from './spool-directory.ts'
import { parseOwner, type SpoolOwner } from './spool-owner.ts'
import { parseRecord, type SpoolRecord } from './spool-records.ts'

export interface SpoolContent {
  /** Undefined: it cannot be read. */
  readonly owner: SpoolOwner | undefined
  /** Whether every request that left for a provider was noted. */
  readonly complete: boolean
  /** Paths, in the order in which they were written. */
  readonly dispatchFiles: readonly string[]
  readonly moneyFiles: readonly string[]
}

export interface ReadLine {
  /** Undefined: the line is damaged. */
  readonly record: SpoolRecord | undefined
  readonly line: Uint8Array
}

/** Rejects with `ENOENT` when the directory is gone. */
export async function listSpool(directory: string): Promise<SpoolContent> {
  const names = (await readdir(directory)).sort()
  const logFiles = (log: string) =>
    names.filter((name) => name.startsWith(`${log}-`)).map((name) => join(directory, name))
  return {
    owner: names.includes(OWNER_FILE) ? await readOwner(directory) : undefined,
    complete: names.includes(COMPLETE_FILE),
    dispatchFiles: logFiles(DISPATCH_LOG),
    moneyFiles: logFiles(MONEY_LOG),
  }
}

/** @returns undefined when it is not there or says nothing. */
export async function readOwner(directory: string): Promise<SpoolOwner | undefined> {
  try {
    return parseOwner(await readFile(join(directory, OWNER_FILE), 'utf8'))
  } catch {
    return undefined
  }
}

/** One file after the other: all of them may be more than fits in memory. A last line that was cut off is left out. */
export async function* readRecords(files: readonly string[]): AsyncGenerator<ReadLine> {
  for (const file of files) {
    for (const line of splitLines(await readFile(file))) {
      const text = readLine(line)
      yield { record: text === undefined ? undefined : parseRecord(text), line }
    }
  }
}

/** Keeps lines that could not be used, for whoever wants to look at them. */
export async function keepDamaged(path: string, lines: readonly Uint8Array[]): Promise<void> {
  const parts = lines.flatMap((line) => [line, Buffer.from('\n')])
  await appendFile(path, Buffer.concat(parts), { mode: 0o600 })
}
