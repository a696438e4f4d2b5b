import { ChevronDown } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import { type DiffFile, type DiffLine, type LineKind, sideBySide } from '../../lib/unified-diff.ts'
import { classNames } from '../../ui/class-names.ts'

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

const SIGNS: Readonly<Record<LineKind, string>> = { context: ' ', added: '+', removed: '−' }
const LOOKS: Readonly<Record<LineKind, string>> = { context: '', added: 'bg-good-soft', removed: 'bg-bad-soft' }
const NUMBER = 'w-10 px-1.5 text-right align-top text-soft tabular-nums select-none'
const TEXT = 'py-px pr-3 align-top whitespace-pre-wrap wrap-anywhere text-ink'
const TABLE = 'w-full border-collapse font-mono text-xs'

interface DiffLinesProps {
  readonly lines: readonly DiffLine[]
  readonly isSplit?: boolean
  /** Of lines whose place in the file is not known. */
  readonly withoutNumbers?: boolean
}

export function DiffLines({ lines, isSplit = false, withoutNumbers = false }: DiffLinesProps) {
  if (isSplit) return <SplitLines lines={lines} />
  return (
    <table className={TABLE}>
      <thead className="sr-only">
        <tr>
          {!withoutNumbers && <th scope="col">Old line</th>}
          {!withoutNumbers && <th scope="col">New line</th>}
          <th scope="col">Change</th>
          <th scope="col">Text</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines do not move
          <tr key={at} className={LOOKS[line.kind]}>
            {!withoutNumbers && <td className={NUMBER}>{line.oldNumber}</td>}
            {!withoutNumbers && <td className={NUMBER}>{line.newNumber}</td>}
            <Sign kind={line.kind} />
            <LineText line={line} />
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function SplitLines({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <table className={classNames(TABLE, 'table-fixed')}>
      <colgroup>
        <col className="w-10" />
        <col className="w-5" />
        <col />
        <col className="w-10" />
        <col className="w-5" />
        <col />
      </colgroup>
      <thead className="sr-only">
        <tr>
          <th scope="colgroup" colSpan={3}>
            Before
          </th>
          <th scope="colgroup" colSpan={3}>
            After
          </th>
        </tr>
      </thead>
      <tbody>
        {sideBySide(lines).map(({ left, right }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines do not move
          <tr key={at}>
            <Side line={left} number={left?.oldNumber} />
            <Side line={right} number={right?.newNumber} />
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Side({ line, number }: { readonly line: DiffLine | undefined; readonly number: number | undefined }) {
  if (line === undefined) return <td colSpan={3} className="bg-sunken" />
  const looks = LOOKS[line.kind]
  return (
    <>
      <td className={classNames(NUMBER, looks)}>{number}</td>
      <Sign kind={line.kind} className={looks} />
      <LineText line={line} className={looks} />
    </>
  )
}

function Sign({ kind, className }: { readonly kind: LineKind; readonly className?: string }) {
  const words = { context: '', added: 'Added', removed: 'Removed' } as const
  return (
    <td className={classNames('w-5 px-1 text-center align-top text-ink select-none', className)}>
      <span aria-hidden>{SIGNS[kind]}</span>
      <span className="sr-only">{words[kind]}</span>
    </td>
  )
}

function LineText({ line, className }: { readonly line: DiffLine; readonly className?: string }) {
  return (
    <td className={classNames(TEXT, className)}>
      <bdi className="[unicode-bidi:isolate]">{line.text}</bdi>
      {line.isUnended && <span className="ml-2 text-soft select-none">(no line end)</span>}
    </td>
  )
}
