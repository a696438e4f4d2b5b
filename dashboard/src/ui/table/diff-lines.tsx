/** Lines of a diff as a table: below one another, or removed beside added ones. */
import { type DiffLine, type LineKind, sideBySide } from '../../lib/unified-diff.ts'
import { classNames } from '../class-names.ts'

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
