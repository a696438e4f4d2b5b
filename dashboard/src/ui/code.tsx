import { createContext, useContext, useId, useState } from 'react'
import { classNames } from './class-names.ts'
import { CopyButton } from './copy.tsx'
import { Tabs } from './tabs.tsx'

export interface CodeBlockProps {
  readonly code: string
  /** Shown in the head: `json`, `python`… */
  readonly language?: string | undefined
  /** Names the block for those who do not see it. */
  readonly label: string
  readonly copy?: boolean
  /** CSS length; without it the block is as high as its text. */
  readonly maxHeight?: string
  readonly className?: string
}

/** Plain text as it is, with its line breaks. It can be scrolled by keyboard. */
export function CodeBlock({ code, language, label, copy = true, maxHeight, className }: CodeBlockProps) {
  const hasHead = copy || language !== undefined
  return (
    <div className={classNames('overflow-hidden rounded-lg border border-line bg-sunken', className)}>
      {hasHead && (
        <div className="flex min-h-9 items-center justify-between gap-2 border-b border-line py-1 pr-1 pl-3">
          <span className="text-xs text-soft">{language ?? label}</span>
          {copy && <CopyButton text={code} label="Copy" variant="ghost" />}
        </div>
      )}
      <CodeText code={code} label={label} maxHeight={maxHeight} />
    </div>
  )
}

export interface CodeTab {
  readonly id: string
  readonly label: string
  readonly code: string
}

export interface CodeTabsProps {
  readonly tabs: readonly CodeTab[]
  readonly label?: string
  readonly className?: string
}

/** The same in several languages. */
export function CodeTabs({ tabs, label = 'Language', className }: CodeTabsProps) {
  const [chosen, setChosen] = useState(tabs[0]?.id ?? '')
  const shown = tabs.find(({ id }) => id === chosen) ?? tabs[0]
  if (shown === undefined) return null
  return (
    <div className={className}>
      <Tabs
        label={label}
        value={shown.id}
        onChange={setChosen}
        items={tabs.map((tab) => ({ value: tab.id, label: tab.label }))}
      >
        <CodeBlock code={shown.code} label={`${shown.label} code`} />
      </Tabs>
    </div>
  )
}

interface CodeTextProps {
  readonly code: string
  readonly label: string
  readonly maxHeight: string | undefined
}

function CodeText({ code, label, maxHeight }: CodeTextProps) {
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be a landmark for every example on the page
    <div
      role="group"
      id={id}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, what is beyond the edge is out of the keyboard's reach
      tabIndex={0}
      style={{ maxHeight }}
      className="overflow-auto p-3 -outline-offset-2"
    >
      <pre className="font-mono text-sm text-ink">
        <code>{code}</code>
      </pre>
    </div>
  )
}

// Commands of Turnpike's command line, as they are typed where this gateway is installed.

/** What stands for `turnpike`: `npx turnpike`, for example. */
export const CommandLine = createContext('turnpike')

/** @param command With `turnpike`, at its start or after a pipe. */
export function useAsTyped(command: string): string {
  return command.replace(/(^|\| )turnpike (?=[a-z])/, `$1${useContext(CommandLine)} `)
}

type CommandBlockProps = Pick<CodeBlockProps, 'label' | 'className'> & { readonly command: string }

export function CommandBlock({ command, ...rest }: CommandBlockProps) {
  return <CodeBlock code={useAsTyped(command)} language="Shell" {...rest} />
}

/** A command in a sentence. */
export function InlineCommand({ command }: { readonly command: string }) {
  return <code className="font-mono text-sm">{useAsTyped(command)}</code>
}
