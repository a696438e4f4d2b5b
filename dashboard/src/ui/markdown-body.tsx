/**
 * What `Markdown` loads. The text comes from models and from people one does not know: HTML in it is shown as text, links
 * lead to other sites only, and nothing is loaded for it, so that pictures are their descriptions.
 */
import type { Element, ElementContent } from 'hast'
import { Square, SquareCheckBig } from 'lucide-react'
import { memo, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { growingBlocks } from '../lib/growing-markdown.ts'
import { isSimpleMarkdown } from '../lib/markdown-limits.ts'
import { safeLink, visibleText } from '../lib/visible-text.ts'
import { classNames } from './class-names.ts'
import { CodeBlock } from './code.tsx'

export interface MarkdownProps {
  readonly text: string
  /** More of it comes: of what is there, only the last block is rendered again. */
  readonly isGrowing?: boolean | undefined
  readonly className?: string | undefined
}

const PLUGINS = [remarkGfm]
const HEADING = 'mt-4 mb-2 font-semibold text-ink first:mt-0'

/** Below the headings of pages and sections. No element has an id: two texts on a page would have the same ones. */
const COMPONENTS: Components = {
  h1: ({ children }) => <h3 className={classNames(HEADING, 'text-lg')}>{children}</h3>,
  h2: ({ children }) => <h4 className={HEADING}>{children}</h4>,
  h3: ({ children }) => <h5 className={HEADING}>{children}</h5>,
  h4: ({ children }) => <h6 className={HEADING}>{children}</h6>,
  h5: ({ children }) => <h6 className={HEADING}>{children}</h6>,
  h6: ({ children }) => <h6 className={HEADING}>{children}</h6>,
  p: ({ children }) => <p className="my-2 first:mt-0 last:mb-0">{children}</p>,
  a: ({ href, children }) => <TextLink href={href}>{children}</TextLink>,
  img: ({ alt }) => <span className="text-soft italic">{alt === undefined || alt === '' ? 'Image' : alt}</span>,
  pre: ({ node }) => <Code element={node} />,
  code: ({ children }) => (
    <code className="rounded-sm border border-line bg-sunken px-1 py-px font-mono text-[0.92em]">{children}</code>
  ),
  ul: ({ children }) => <ul className="my-2 list-disc pl-6">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="my-2 list-decimal pl-6">
      {children}
    </ol>
  ),
  li: ({ children, className }) => (
    <li className={classNames('my-1', className?.includes('task-list-item') === true && '-ml-5 list-none')}>
      {children}
    </li>
  ),
  input: ({ checked }) => <TaskBox isDone={checked === true} />,
  blockquote: ({ children }) => (
    <blockquote className="my-2 border-l-2 border-strong pl-3 text-soft">{children}</blockquote>
  ),
  hr: () => <hr className="my-4 border-line" />,
  table: ({ children }) => <TableFrame>{children}</TableFrame>,
  th: ({ children, style }) => (
    <th style={style} className="border border-line bg-sunken px-2 py-1 text-left font-medium">
      {children}
    </th>
  ),
  td: ({ children, style }) => (
    <td style={style} className="border border-line px-2 py-1">
      {children}
    </td>
  ),
  section: ({ children }) => <div className="mt-4 border-t border-line pt-2 text-sm">{children}</div>,
  sup: ({ children }) => <sup>{children}</sup>,
}

export function MarkdownBody({ text, isGrowing = false, className }: MarkdownProps) {
  const paced = usePacedText(text, isGrowing)
  const blocks = isGrowing ? growingBlocks(paced) : [text]
  return (
    <div className={classNames('break-words text-ink', className)}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
        <Block key={index} text={block} />
      ))}
    </div>
  )
}

const Block = memo(function Block({ text }: { readonly text: string }) {
  if (!isSimpleMarkdown(text)) return <div className="whitespace-pre-wrap">{visibleText(text)}</div>
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={(address) => safeLink(address)}>
      {text}
    </ReactMarkdown>
  )
})

/** A long list or table takes more than a frame to render: for three times as long as that the page is left alone. */
const PAUSE_PER_RENDERING = 3

/** The text as it grows, or as it was a moment ago where each rendering takes long. */
function usePacedText(text: string, isGrowing: boolean): string {
  const [paced, setPaced] = useState(text)
  const next = useRef(0)
  const began = performance.now()
  // biome-ignore lint/correctness/useExhaustiveDependencies: measures what a new text takes, nothing else
  useLayoutEffect(() => {
    const now = performance.now()
    next.current = now + (now - began) * PAUSE_PER_RENDERING
  }, [paced])
  useEffect(() => {
    if (!isGrowing || text === paced) return undefined
    const timer = setTimeout(() => setPaced(text), next.current - performance.now())
    return () => clearTimeout(timer)
  }, [text, paced, isGrowing])
  return paced
}

function TextLink({ href, children }: { readonly href: string | undefined; readonly children: ReactNode }) {
  if (href === undefined) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow" className="text-accent underline">
      {children}
    </a>
  )
}

function TaskBox({ isDone }: { readonly isDone: boolean }) {
  const Icon = isDone ? SquareCheckBig : Square
  return (
    <Icon
      role="img"
      aria-label={isDone ? 'Done' : 'To do'}
      className="mr-1.5 inline-block size-4 align-[-0.2em] text-soft"
    />
  )
}

function TableFrame({ children }: { readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be a landmark for every table of a text
    <div
      role="group"
      aria-label="Table"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, what is beyond the edge is out of the keyboard's reach
      tabIndex={0}
      className="my-2 overflow-x-auto"
    >
      <table className="border-collapse text-sm">{children}</table>
    </div>
  )
}

function Code({ element }: { readonly element: Element | undefined }) {
  const inner = element?.children.find((child) => child.type === 'element')
  const names = inner?.properties['className']
  const classes = Array.isArray(names) ? names.map(String) : []
  const language = classes.find((name) => name.startsWith('language-'))?.slice('language-'.length)
  const code = textOf(element?.children ?? []).replace(/\n$/, '')
  const label = language === undefined ? 'Code' : `${language} code`
  return <CodeBlock code={code} language={language} label={label} className="my-3" />
}

function textOf(nodes: readonly ElementContent[]): string {
  return nodes
    .map((node) => {
      if (node.type === 'text') return node.value
      return node.type === 'element' ? textOf(node.children) : ''
    })
    .join('')
}
