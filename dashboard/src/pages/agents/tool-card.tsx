/** A tool call with its arguments and its output, all of which are untrusted text. */
import {
  CircleCheck,
  CircleX,
  Eye,
  FilePlus2,
  Flag,
  LoaderCircle,
  type LucideIcon,
  PencilLine,
  Search,
  SquareTerminal,
  Wrench,
} from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { plural } from '../../lib/format.ts'
import { visibleName, visibleText } from '../../lib/visible-text.ts'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { DiffLines } from '../../ui/table/diff-lines.tsx'
import { folded, inlineDiff, readToolCall, type ToolCall, withoutOutcome } from './tool-call.ts'
import type { ToolEntry } from './work.ts'

export interface ToolCardProps {
  readonly entry: ToolEntry
  /** Whether the agent still works. */
  readonly isOpen: boolean
}

const ICONS: Readonly<Record<ToolCall['kind'], LucideIcon>> = {
  shell: SquareTerminal,
  edit: PencilLine,
  create: FilePlus2,
  view: Eye,
  search: Search,
  finish: Flag,
  other: Wrench,
}

export function ToolCard({ entry, isOpen }: ToolCardProps) {
  const call = readToolCall(entry)
  const Icon = ICONS[call.kind]
  const title = titleOf(call, entry.name)
  return (
    <article
      aria-label={`${title.verb} ${title.what}`.trim()}
      className="overflow-hidden rounded-xl border border-line bg-surface"
    >
      <header className="flex min-h-9 flex-wrap items-center gap-x-2 gap-y-1 px-3 py-1.5">
        <Icon aria-hidden className="size-4 shrink-0 text-soft" />
        <span className="font-medium text-ink">{title.verb}</span>
        <bdi className="min-w-0 flex-1 font-mono text-sm wrap-anywhere text-soft">{title.what}</bdi>
        <Outcome entry={entry} isOpen={isOpen} />
      </header>
      <Body call={call} entry={entry} />
    </article>
  )
}

function titleOf(call: ToolCall, name: string): { readonly verb: string; readonly what: string } {
  switch (call.kind) {
    case 'shell':
      return { verb: 'Run', what: '' }
    case 'edit':
      return { verb: 'Edit', what: visibleName(call.path) }
    case 'create':
      return { verb: 'Create', what: visibleName(call.path) }
    case 'view':
      return { verb: 'View', what: visibleName(`${call.path}${call.lines === undefined ? '' : `, ${call.lines}`}`) }
    case 'search':
      return {
        verb: 'Search',
        what: visibleName(`${call.pattern}${call.path === undefined ? '' : ` in ${call.path}`}`),
      }
    case 'finish':
      return { verb: 'Finish', what: '' }
    case 'other':
      return { verb: 'Call', what: visibleName(name) }
  }
}

/** Of a command its exit code, in words and with an icon. */
function Outcome({ entry: { result }, isOpen }: ToolCardProps) {
  if (result === undefined) {
    if (!isOpen) return <span className="text-sm text-soft">Not finished</span>
    return (
      <span className="inline-flex items-center gap-1.5 text-sm text-info">
        <LoaderCircle aria-hidden className="size-4 animate-spin" />
        Running
      </span>
    )
  }
  const { exitCode } = result
  if (exitCode === undefined) return null
  const isGood = exitCode === 0
  const Icon = isGood ? CircleCheck : CircleX
  return (
    <span className={`inline-flex items-center gap-1.5 text-sm tabular-nums ${isGood ? 'text-good' : 'text-bad'}`}>
      <Icon aria-hidden className="size-4" />
      {exitCode === null ? 'Stopped' : `Exit code ${exitCode}`}
    </span>
  )
}

function Body({ call, entry }: { readonly call: ToolCall; readonly entry: ToolEntry }) {
  const { result } = entry
  const output = result === undefined ? '' : visibleText(result.output)
  switch (call.kind) {
    case 'shell':
      return (
        <>
          <Well label="Command">
            <FoldedText text={`$ ${visibleText(call.command)}`} className="text-ink" />
          </Well>
          {result?.exitCode === undefined ? (
            <Output text={output} entry={entry} />
          ) : (
            <Output text={result.exitCode === null ? output : withoutOutcome(output)} entry={entry} keep="end" />
          )}
        </>
      )
    case 'edit':
      return <Change before={call.old} after={call.new} output={output} entry={entry} />
    case 'create':
      return <Change before="" after={call.content} output={output} entry={entry} />
    case 'finish':
      return (
        <div className="border-t border-line px-4 py-3">
          <Markdown text={visibleText(call.summary)} />
          {output !== '' && output !== 'Finished.' && <p className="mt-2 text-sm text-bad">{output}</p>}
        </div>
      )
    case 'other':
      return (
        <>
          <Well label="Arguments">
            <FoldedText text={visibleText(call.text)} className="text-ink" />
          </Well>
          <Output text={output} entry={entry} />
        </>
      )
    default:
      return <Output text={output} entry={entry} />
  }
}

interface ChangeProps {
  readonly before: string
  readonly after: string
  readonly output: string
  readonly entry: ToolEntry
}

const DONE = /^(?:Replaced|Wrote) /
/** Of a file that is created, so much is shown. */
const MAX_LINES = 40

/** What was to be changed; and why it was not, where it was not. */
function Change({ before, after, output, entry }: ChangeProps) {
  const lines = inlineDiff(before, after)
  const more = lines.length - MAX_LINES
  return (
    <>
      <div className="border-t border-line">
        <DiffLines lines={lines.slice(0, MAX_LINES)} withoutNumbers />
        {more > 0 && <p className="px-3 py-1 text-sm text-soft">{more} more lines; see the diff.</p>}
      </div>
      {!DONE.test(output) && <Output text={output} entry={entry} />}
    </>
  )
}

interface OutputProps {
  readonly text: string
  readonly entry: ToolEntry
  readonly keep?: 'start' | 'end'
}

function Output({ text, entry: { result }, keep = 'start' }: OutputProps) {
  if (result === undefined) return null
  if (text === '') return <p className="border-t border-line px-3 py-1.5 text-sm text-soft">No output</p>
  return (
    <Well label="Output">
      <FoldedText text={text} keep={keep} className="text-ink" />
      {result.isTruncated && <p className="mt-1 font-sans text-soft">Truncated.</p>}
    </Well>
  )
}

function Well({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="border-t border-line bg-sunken px-3 py-2 font-mono text-xs">
      <span className="sr-only">{label}: </span>
      {children}
    </div>
  )
}

interface FoldedTextProps {
  /** May be seen: it went through `visibleText`. */
  readonly text: string
  readonly keep?: 'start' | 'end'
  readonly className?: string
}

/** Text as it is, line by line; of long ones a part, and the rest on request. */
export function FoldedText({ text, keep = 'start', className }: FoldedTextProps) {
  const [isWhole, setWhole] = useState(false)
  const part = folded(text, keep)
  const isFolded = part !== undefined && !isWhole
  return (
    <>
      {isFolded && keep === 'end' && <p className="pb-1 text-soft">…</p>}
      <p dir="auto" className={classNames('whitespace-pre-wrap wrap-anywhere', className)}>
        {isFolded ? part : text}
      </p>
      {isFolded && keep === 'start' && <p className="text-soft">…</p>}
      {part !== undefined && (
        <Button
          size="sm"
          variant="ghost"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
          className="mt-1 -ml-2.5 font-sans"
        >
          {isWhole ? 'Show less' : `Show all (${plural(text.split('\n').length, 'line')})`}
        </Button>
      )}
    </>
  )
}
