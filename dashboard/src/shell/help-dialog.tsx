/** `?`: where to look things up, and what the keyboard does. */
import { useMe } from '../api/me.ts'
import { Dialog } from '../ui/dialog.tsx'
import { areLettersOn, JUMPS } from './shortcuts.ts'

const PAGES = [
  { label: 'Quick start', path: 'quick-start' },
  { label: 'Errors, and what to do about each', path: 'errors' },
  { label: 'Clients and SDKs', path: 'clients/' },
  { label: 'API reference', path: 'api/' },
  { label: 'Operation of a gateway', path: 'operations' },
] as const

interface HelpProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export function HelpDialog({ open, onOpenChange }: HelpProps) {
  const { rights } = useMe()
  const jumps = JUMPS.filter(({ right }) => right === undefined || rights.has(right))
  const description = areLettersOn()
    ? 'Single letters can be switched off in Settings, Appearance.'
    : 'Single letters are switched off in Settings, Appearance.'
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Help and keyboard shortcuts">
      <ul className="mb-5 flex flex-col gap-1.5 text-sm">
        {PAGES.map(({ label, path }) => (
          <li key={path}>
            <a href={`/docs/${path}`} className="text-accent hover:underline">
              {label}
            </a>
          </li>
        ))}
      </ul>
      <p className="mb-3 text-sm text-soft">{description}</p>
      <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2 text-sm">
        <Shortcut keys={['Ctrl', 'K']} what="Search or jump to" />
        <Shortcut keys={['?']} what="This list" />
        {jumps.map(({ letter, label }) => (
          <Shortcut key={letter} keys={['g', letter]} what={`Go to ${label}`} />
        ))}
      </dl>
    </Dialog>
  )
}

function Shortcut({ keys, what }: { readonly keys: readonly string[]; readonly what: string }) {
  return (
    <>
      <dt>{what}</dt>
      <dd className="flex gap-1">
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dd>
    </>
  )
}
