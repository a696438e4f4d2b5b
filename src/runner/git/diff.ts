/** What the branch changed, between two commits: the work tree is not looked at, and no program is asked to show anything. */
import { type Checkout, callIn } from './checkout.ts'
import { plainText } from './plain-text.ts'
import { git } from './process.ts'

export interface Diff {
  /** Unified. Names are quoted as git does it; contents are as they are, terminal sequences and all. */
  readonly text: string
  readonly isTruncated: boolean
}

export interface ChangedFile {
  /** Cleaned for showing; not to open anything by. */
  readonly path: string
  readonly change: 'added' | 'modified' | 'deleted'
  /** Lines; undefined where the file is not text. */
  readonly insertions: number | undefined
  readonly deletions: number | undefined
}

export interface ChangedFiles {
  readonly files: readonly ChangedFile[]
  readonly isTruncated: boolean
}

const OPTIONS = ['-r', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--submodule=short']
const PREFIXES = ['--src-prefix=a/', '--dst-prefix=b/']
const LISTED_FILES = 1_000
const CHANGES: Readonly<Record<string, ChangedFile['change']>> = { A: 'added', D: 'deleted' }

/** @param between Commits, by id or name. */
export async function diff(checkout: Checkout, between: { base: string; head?: string }): Promise<Diff> {
  const maxOutputBytes = checkout.settings.limits.diffBytes
  const args = ['diff-tree', '-p', ...OPTIONS, ...PREFIXES, '--end-of-options', between.base, between.head ?? 'HEAD']
  const { stdout, isCut } = await git(callIn(checkout, args, { maxOutputBytes }))
  // Whole lines, so that no character is cut either.
  const whole = isCut ? stdout.subarray(0, stdout.lastIndexOf('\n') + 1) : stdout
  return { text: whole.toString('utf8'), isTruncated: isCut }
}

/** @param between Commits, by id or name. */
export async function changedFiles(
  checkout: Checkout,
  between: { base: string; head?: string },
): Promise<ChangedFiles> {
  const list = ['diff-tree', '-z', '--raw', '--numstat', ...OPTIONS]
  const args = [...list, '--end-of-options', between.base, between.head ?? 'HEAD']
  const maxOutputBytes = checkout.settings.limits.diffBytes
  const { stdout, isCut } = await git(callIn(checkout, args, { maxOutputBytes }))
  const fields = stdout.toString('utf8').split('\0')
  const files = readChanges(fields.slice(0, -1))
  return { files: files.slice(0, LISTED_FILES), isTruncated: isCut || files.length > LISTED_FILES }
}

/** First all pairs of `:mode mode object object status` and path, then for each `insertions deletions path`. */
function readChanges(fields: readonly string[]): ChangedFile[] {
  const changes = new Map<string, ChangedFile>()
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? ''
    if (field.startsWith(':')) {
      const path = fields[++at]
      const change = CHANGES[field.at(-1) ?? ''] ?? 'modified'
      const shown = plainText(path ?? '').replace(/[\n\t]/g, ' ')
      if (path !== undefined) changes.set(path, { path: shown, change, insertions: undefined, deletions: undefined })
      continue
    }
    const [, insertions, deletions, path = ''] = /^(\d+)\t(\d+)\t([\s\S]*)$/.exec(field) ?? []
    const known = changes.get(path)
    if (known === undefined) continue
    changes.set(path, { ...known, insertions: Number(insertions), deletions: Number(deletions) })
  }
  return [...changes.values()]
}
