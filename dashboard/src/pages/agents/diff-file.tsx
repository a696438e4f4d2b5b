import { ChevronDown } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import type { DiffFile } from '../../lib/unified-diff.ts'
import { classNames } from '../../ui/class-names.ts'
import { DiffLines } from '../../ui/table/diff-lines.tsx'

export interface DiffFileCardProps {
  /** Of the element, for links to it. */
  readonly id: string
  readonly file: DiffFile
  readonly isSplit: boolean
}

export function DiffFileCard({ id, file, isSplit }: DiffFileCardProps) {
  const [isOpen, setOpen] = useState(true)
  const body = `${id}-body`
  return (
    <section id={id} aria-label={file.path} className="scroll-mt-16 rounded-xl border border-line bg-surface">
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={body}
          onClick={() => setOpen(!isOpen)}
          className={classNames(
            'flex min-h-10 w-full items-center gap-2 bg-sunken px-3 py-1.5 text-left -outline-offset-2 hover:bg-hover',
            isOpen ? 'rounded-t-xl border-b border-line' : 'rounded-xl',
          )}
        >
          <ChevronDown aria-hidden className={classNames('size-4 shrink-0 text-soft', !isOpen && '-rotate-90')} />
          <span className="min-w-0 flex-1">
            <bdi className="font-mono text-sm wrap-anywhere text-ink">{file.path}</bdi>
            <FileNote file={file} />
          </span>
          <Counts {...file} />
        </button>
      </h3>
      <div id={body} hidden={!isOpen} className="overflow-hidden rounded-b-xl">
        {isOpen && <FileBody file={file} isSplit={isSplit} />}
      </div>
    </section>
  )
}

const CHANGES: Readonly<Record<DiffFile['change'], string>> = {
  added: 'New file',
  deleted: 'Deleted',
  renamed: 'Renamed',
  copied: 'Copied',
  modified: '',
}

function FileNote({ file: { change, oldPath, modes } }: { readonly file: DiffFile }) {
  const from = oldPath === undefined ? '' : ` from ${oldPath}`
  const mode = modes === undefined ? '' : `Mode ${modes.old} → ${modes.new}`
  const notes = [`${CHANGES[change]}${from}`, mode].filter((note) => note !== '')
  if (notes.length === 0) return null
  return <span className="ml-2 text-xs wrap-anywhere text-soft">{notes.join(' · ')}</span>
}

function FileBody({ file, isSplit }: { readonly file: DiffFile; readonly isSplit: boolean }) {
  if (file.isBinary) return <Note>Binary file: its contents are not shown.</Note>
  if (file.hunks.length === 0) return <Note>No lines changed.</Note>
  return (
    <>
      {file.hunks
        .filter(({ lines }) => lines.length > 0)
        .map((hunk, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a file do not move
          <div key={at}>
            <p className="bg-info-soft px-3 py-0.5 font-mono text-xs wrap-anywhere text-info">
              <bdi>{hunk.header}</bdi>
            </p>
            <DiffLines lines={hunk.lines} isSplit={isSplit} />
          </div>
        ))}
      {file.omitted > 0 && <Note>{plural(file.omitted, 'more line')}, not shown.</Note>}
    </>
  )
}

function Note({ children }: { readonly children: ReactNode }) {
  return <p className="px-3 py-2 text-sm text-soft">{children}</p>
}

export interface CountsProps {
  readonly insertions: number
  readonly deletions: number
}

/** Nothing where no line was counted: what is no text has none. */
export function Counts({ insertions, deletions }: CountsProps) {
  if (insertions === 0 && deletions === 0) return null
  return (
    <span className="shrink-0 font-mono text-xs tabular-nums">
      <span className="text-good">+{formatCount(insertions)}</span>
      <span className="sr-only"> lines added, </span> <span className="text-bad">−{formatCount(deletions)}</span>
      <span className="sr-only"> lines removed</span>
    </span>
  )
}
