import { lazy, Suspense } from 'react'
import type { MarkdownProps } from './markdown-body.tsx'

/** Called before there is text, it saves showing the text as it is first. */
export const loadMarkdown = () => import('./markdown-body.tsx')

const MarkdownBody = lazy(() => loadMarkdown().then((module) => ({ default: module.MarkdownBody })))

/** Markdown as models write it, without HTML. Until its renderer is loaded, which is large, the text as it is. */
export function Markdown(props: MarkdownProps) {
  return (
    <Suspense fallback={<div className="break-words whitespace-pre-wrap">{props.text}</div>}>
      <MarkdownBody {...props} />
    </Suspense>
  )
}
