/**
 * Reads what `git diff` writes. The text is untrusted: hunks are read by their counts, so that no line of a file can pass
 * for a header, and whatever fits nowhere is left out. Lines and paths come out as they may be shown.
 */
import { visibleLine, visibleName } from './visible-text.ts'

export type LineKind = 'context' | 'added' | 'removed'

export interface DiffLine {
  readonly kind: LineKind
  readonly text: string
  /** In the file before; undefined for an added line. */
  readonly oldNumber: number | undefined
  /** In the file after; undefined for a removed line. */
  readonly newNumber: number | undefined
  /** It is the last one of its file and no line end follows. */
  readonly isUnended: boolean
}

export interface DiffHunk {
  /** `@@ -1,4 +1,6 @@`, with what git says about where it is. */
  readonly header: string
  readonly lines: readonly DiffLine[]
}

export type FileChange = 'added' | 'deleted' | 'renamed' | 'copied' | 'modified'

export interface DiffFile {
  /** Its path after the change; before it where it was deleted. */
  readonly path: string
  /** Where it was renamed or copied from. */
  readonly oldPath: string | undefined
  readonly change: FileChange
  readonly isBinary: boolean
  /** As git writes modes: `100755`. Both are there where they differ. */
  readonly modes: { readonly old: string; readonly new: string } | undefined
  readonly hunks: readonly DiffHunk[]
  readonly insertions: number
  readonly deletions: number
  /** Lines that are counted but left out, because of `maxLines`. */
  readonly omitted: number
}

export interface UnifiedDiff {
  readonly files: readonly DiffFile[]
  readonly insertions: number
  readonly deletions: number
  readonly omitted: number
}

interface OpenHunk {
  readonly header: string
  readonly lines: DiffLine[]
  oldNumber: number
  newNumber: number
  oldLeft: number
  newLeft: number
}

interface OpenFile {
  oldPath: string | undefined
  newPath: string | undefined
  change: FileChange
  isBinary: boolean
  oldMode: string | undefined
  newMode: string | undefined
  readonly hunks: OpenHunk[]
  insertions: number
  deletions: number
  omitted: number
}

/** @param maxLines Lines of all files together that are kept; the others are only counted. */
export function parseUnifiedDiff(text: string, { maxLines = Number.POSITIVE_INFINITY } = {}): UnifiedDiff {
  const files: OpenFile[] = []
  let kept = 0
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const file = files.at(-1)
    const hunk = file?.hunks.at(-1)
    if (file !== undefined && hunk !== undefined && takesLine(hunk, line)) {
      const isKept = kept < maxLines
      if (addLine(file, hunk, { line, isKept }) && isKept) kept += 1
    } else if (line.startsWith('diff --git ')) files.push(openFile(line.slice('diff --git '.length)))
    else if (file !== undefined) readHeader(file, line)
  }
  return summed(files.map(closed))
}

/** Removed lines beside the added ones that stand in their place; a context line is on both sides. */
export interface DiffPair {
  readonly left: DiffLine | undefined
  readonly right: DiffLine | undefined
}

export function sideBySide(lines: readonly DiffLine[]): readonly DiffPair[] {
  const pairs: DiffPair[] = []
  const removed: DiffLine[] = []
  const added: DiffLine[] = []
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      pairs.push({ left: removed[at], right: added[at] })
    }
    removed.length = 0
    added.length = 0
  }
  for (const line of lines) {
    if (line.kind === 'context') {
      flush()
      pairs.push({ left: line, right: line })
    } else if (line.kind === 'added') added.push(line)
    else {
      if (added.length > 0) flush()
      removed.push(line)
    }
  }
  flush()
  return pairs
}

function takesLine({ oldLeft, newLeft }: OpenHunk, line: string): boolean {
  if (line.startsWith('\\')) return true
  return (oldLeft > 0 || newLeft > 0) && (line === '' || /^[ +-]/.test(line))
}

interface RawLine {
  readonly line: string
  readonly isKept: boolean
}

/** @returns whether it was a line of the file. */
function addLine(file: OpenFile, hunk: OpenHunk, { line, isKept }: RawLine): boolean {
  if (line.startsWith('\\')) {
    const last = hunk.lines.at(-1)
    if (last !== undefined && isKept) hunk.lines[hunk.lines.length - 1] = { ...last, isUnended: true }
    return false
  }
  const kind: LineKind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'context'
  const oldNumber = kind === 'added' ? undefined : hunk.oldNumber++
  const newNumber = kind === 'removed' ? undefined : hunk.newNumber++
  if (oldNumber !== undefined) hunk.oldLeft -= 1
  if (newNumber !== undefined) hunk.newLeft -= 1
  if (kind === 'added') file.insertions += 1
  if (kind === 'removed') file.deletions += 1
  if (isKept) hunk.lines.push({ kind, text: visibleLine(line.slice(1)), oldNumber, newNumber, isUnended: false })
  else file.omitted += 1
  return true
}

function openFile(header: string): OpenFile {
  const { oldPath, newPath } = sidesOfHeader(header)
  const nothing = { hunks: [], insertions: 0, deletions: 0, omitted: 0 }
  return { oldPath, newPath, change: 'modified', isBinary: false, oldMode: undefined, newMode: undefined, ...nothing }
}

const HUNK = '@@ '

type HeaderFields = Partial<Pick<OpenFile, 'oldPath' | 'newPath' | 'change' | 'isBinary' | 'oldMode' | 'newMode'>>

/** Headers between a file's first line and its first hunk, and what each of them tells of the file. */
const HEADERS: readonly (readonly [start: string, read: (value: string) => HeaderFields])[] = [
  ['old mode ', (value) => ({ oldMode: value })],
  ['new mode ', (value) => ({ newMode: value })],
  ['new file mode ', () => ({ change: 'added' })],
  ['deleted file mode ', () => ({ change: 'deleted' })],
  ['rename from ', (value) => ({ change: 'renamed', oldPath: quotedPath(value) })],
  ['rename to ', (value) => ({ change: 'renamed', newPath: quotedPath(value) })],
  ['copy from ', (value) => ({ change: 'copied', oldPath: quotedPath(value) })],
  ['copy to ', (value) => ({ change: 'copied', newPath: quotedPath(value) })],
  ['--- ', (value) => sidePath('oldPath', value)],
  ['+++ ', (value) => sidePath('newPath', value)],
  ['Binary files ', () => ({ isBinary: true })],
  ['GIT binary patch', () => ({ isBinary: true })],
]

function readHeader(file: OpenFile, line: string): void {
  if (line.startsWith(HUNK)) {
    openHunk(file, line.slice(HUNK.length))
    return
  }
  if (file.hunks.length > 0) return // what follows the first hunk is either another hunk or rubbish
  const [start = '', read] = HEADERS.find(([each]) => line.startsWith(each)) ?? []
  Object.assign(file, read?.(line.slice(start.length)))
}

function openHunk(file: OpenFile, rest: string): void {
  const match = /^-(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/.exec(rest)
  if (match === null) return
  const [, oldNumber, oldLeft = '1', newNumber, newLeft = '1'] = match
  file.hunks.push({
    header: visibleLine(`${HUNK}${rest}`),
    lines: [],
    oldNumber: Number(oldNumber),
    newNumber: Number(newNumber),
    oldLeft: Number(oldLeft),
    newLeft: Number(newLeft),
  })
}

/** Nothing for `/dev/null`: the file is not there on this side. */
function sidePath(side: 'oldPath' | 'newPath', value: string): HeaderFields {
  const path = quotedPath(value.replace(/\t.*$/, ''))
  return path === '/dev/null' ? {} : { [side]: path.replace(/^[ab]\//, '') }
}

function closed(file: OpenFile): DiffFile {
  const { oldPath = '', newPath = oldPath, oldMode, newMode, change } = file
  const path = change === 'deleted' ? oldPath : newPath
  const hasMoved = change === 'renamed' || change === 'copied'
  return {
    path: visibleName(path),
    oldPath: hasMoved ? visibleName(oldPath) : undefined,
    change,
    isBinary: file.isBinary,
    modes:
      oldMode === undefined || newMode === undefined
        ? undefined
        : { old: visibleName(oldMode), new: visibleName(newMode) },
    hunks: file.hunks.map(({ header, lines }) => ({ header, lines })),
    insertions: file.insertions,
    deletions: file.deletions,
    omitted: file.omitted,
  }
}

function summed(files: readonly DiffFile[]): UnifiedDiff {
  const sum = (of: (file: DiffFile) => number): number => files.reduce((total, file) => total + of(file), 0)
  return {
    files,
    insertions: sum((file) => file.insertions),
    deletions: sum((file) => file.deletions),
    omitted: sum((file) => file.omitted),
  }
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }
const QUOTED = /^"((?:[^"\\]|\\.)*)"/

/** What `"a/\303\244.txt"` stands for: bytes of UTF-8 in octal. What is not quoted is itself. */
function quotedPath(text: string): string {
  const [, inner] = QUOTED.exec(text) ?? []
  if (inner === undefined) return text
  const bytes: number[] = []
  for (const [, octal, letter, plain = ''] of inner.matchAll(/\\([0-3][0-7]{2})|\\(.)|([^\\]+)/gu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8))
    else if (letter !== undefined) bytes.push(...escaped(letter))
    else bytes.push(...utf8(plain))
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(bytes))
}

interface Sides {
  readonly oldPath: string | undefined
  readonly newPath: string | undefined
}

/**
 * Both paths of `a/one b/two`, as it stands behind `diff --git`. Unquoted ones are told apart only where they are the same,
 * which they are wherever no other header names them.
 */
function sidesOfHeader(header: string): Sides {
  const [first] = QUOTED.exec(header) ?? []
  if (first !== undefined) {
    const rest = header.slice(first.length + 1)
    return { oldPath: withoutSide(quotedPath(first)), newPath: withoutSide(quotedPath(rest)) }
  }
  const quotedAt = header.indexOf(' "')
  if (quotedAt > 0 && header.endsWith('"')) {
    return {
      oldPath: withoutSide(header.slice(0, quotedAt)),
      newPath: withoutSide(quotedPath(header.slice(quotedAt + 1))),
    }
  }
  const middle = (header.length - 1) / 2
  const [left, right] = [header.slice(0, middle), header.slice(middle + 1)].map(withoutSide)
  return left === right ? { oldPath: left, newPath: right } : { oldPath: undefined, newPath: undefined }
}

function withoutSide(path: string): string {
  return path.replace(/^[ab]\//, '')
}

function escaped(letter: string): Iterable<number> {
  const byte = ESCAPES[letter]
  return byte === undefined ? utf8(letter) : [byte]
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
