import { lazy, Suspense } from 'react'
import type { MarkdownProps } from './markdown-body.tsx'

const MarkdownBody = lazy(() => import('./markdown-body.tsx').then((module) => ({ default: module.MarkdownBody })))

/** Markdown as models write it, without HTML. Until its renderer is loaded, which is large, the text as it is. */
export function Markdown({ text, className }: MarkdownProps) {
  return (
    <Suspense fallback={<div className="break-words whitespace-pre-wrap">{text}</div>}>
      <MarkdownBody text={text} className={className} />
    </Suspense>
  )
}
