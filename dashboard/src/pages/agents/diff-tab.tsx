/** What an agent changed. */
import { useQuery } from '@tanstack/react-query'
import { Download, FileDiff } from 'lucide-react'
import { useMemo } from 'react'
import { downloadText } from '../../lib/download.ts'
import { formatBytes, formatCount, plural } from '../../lib/format.ts'
import { type DiffFile, parseUnifiedDiff, type UnifiedDiff } from '../../lib/unified-diff.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Segmented } from '../../ui/form/segmented.tsx'
import { useMediaQuery } from '../../ui/media-query.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Counts, DiffFileCard } from './diff-file.tsx'
import { diffQuery, type LiveAgent, type LoadedDiff } from './queries.ts'
import { isEnded } from './work.ts'

/** Beyond, lines are counted and left out; the file that can be downloaded has them. */
const MAX_LINES = 5_000
/** More is too much for a clipboard. */
const MAX_COPY = 1_000_000
const FROM_LG = '(width >= 64rem)'

export interface DiffTabProps {
  readonly agent: LiveAgent
  /** With both sides beside each other, where there is room. */
  readonly isSplit: boolean
  readonly onSplit: (isSplit: boolean) => void
}

export function DiffTab(props: DiffTabProps) {
  const { id, status } = props.agent
  const query = useQuery(diffQuery(id))
  return (
    <Loaded query={query} what="the diff">
      {(diff) =>
        diff === null || diff.text === '' ? <NoDiff isEnded={isEnded(status)} /> : <Diff {...props} diff={diff} />
      }
    </Loaded>
  )
}

function NoDiff({ isEnded: ended }: { readonly isEnded: boolean }) {
  return (
    <Empty icon={FileDiff} title={ended ? 'No changes' : 'No diff yet'}>
      {ended ? 'The transcript has its answer.' : 'The diff appears when the run commits its changes.'}
    </Empty>
  )
}

function Diff({ agent, isSplit, onSplit, diff }: DiffTabProps & { readonly diff: LoadedDiff }) {
  const parsed = useMemo(() => parseUnifiedDiff(diff.text, { maxLines: MAX_LINES }), [diff.text])
  const isWide = useMediaQuery(FROM_LG)
  const download = () => downloadText(`${agent.id}.diff`, 'text/x-diff', diff.text)
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <p className="mr-auto text-ink">
          {plural(parsed.files.length, 'file')} changed <Counts {...parsed} />
        </p>
        {isWide && (
          <Segmented
            label="Layout of the diff"
            value={isSplit ? 'split' : 'unified'}
            onChange={(layout) => onSplit(layout === 'split')}
            options={[
              { value: 'unified', label: 'Unified' },
              { value: 'split', label: 'Side by side' },
            ]}
          />
        )}
        {diff.text.length <= MAX_COPY && <CopyButton text={diff.text} label="Copy diff" />}
        <Button size="sm" icon={Download} onClick={download}>
          Download
        </Button>
      </div>
      <Notes diff={diff} parsed={parsed} />
      {parsed.files.length > 1 && <FileList files={parsed.files} />}
      {parsed.files.map((file, at) => (
        <DiffFileCard key={anchorOf(at)} id={anchorOf(at)} file={file} isSplit={isSplit && isWide} />
      ))}
    </div>
  )
}

function Notes({ diff, parsed }: { readonly diff: LoadedDiff; readonly parsed: UnifiedDiff }) {
  const { omitted } = parsed
  if (omitted === 0 && !diff.isTruncated) return null
  return (
    <div className="rounded-lg bg-warn-soft px-3 py-2 text-ink">
      {omitted > 0 && (
        <p>
          {formatCount(omitted)} lines are not shown here. The download has all of them ({formatBytes(diff.text.length)}
          ).
        </p>
      )}
      {diff.isTruncated && <p>The diff exceeds the size limit: its end is missing, also in the download.</p>}
    </div>
  )
}

function FileList({ files }: { readonly files: readonly DiffFile[] }) {
  return (
    <nav aria-label="Changed files" className="max-h-72 overflow-y-auto rounded-xl border border-line bg-surface py-1">
      <ul>
        {files.map((file, at) => (
          <li key={anchorOf(at)}>
            <a
              href={`#${anchorOf(at)}`}
              className="flex min-h-8 items-center justify-between gap-4 px-4 py-1 -outline-offset-2 hover:bg-hover"
            >
              <bdi className="min-w-0 font-mono text-sm wrap-anywhere text-ink">{file.path}</bdi>
              <Counts {...file} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** By position: the path is untrusted. */
function anchorOf(at: number): string {
  return `file-${at + 1}`
}
