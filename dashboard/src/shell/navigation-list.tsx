/** The way to every view that one has the right to see. */
import { Link } from '@tanstack/react-router'
import { BookOpen, CircleHelp } from 'lucide-react'
import { useMe } from '../api/me.ts'
import { type Destination, MAIN, reachable } from './navigation.ts'

export function NavigationList({ onHelp }: { readonly onHelp: () => void }) {
  const { rights } = useMe()
  return (
    <nav aria-label="Main" className="flex flex-col gap-0.5 overflow-y-auto px-2 py-1">
      {reachable(MAIN, rights).map((destination) => (
        <NavigationLink key={destination.to} {...destination} />
      ))}
      <a href="/docs/" className="navigation-link">
        <BookOpen aria-hidden="true" className="size-4 shrink-0" />
        Documentation
      </a>
      <button type="button" onClick={onHelp} className="navigation-link">
        <CircleHelp aria-hidden="true" className="size-4 shrink-0" />
        Help
      </button>
    </nav>
  )
}

function NavigationLink({ label, to, icon: Icon }: Destination) {
  return (
    <Link
      to={to}
      className="navigation-link"
      activeOptions={{ exact: to === '/', includeSearch: false }}
      activeProps={{ 'aria-current': 'page' }}
    >
      <Icon aria-hidden="true" className="size-4 shrink-0" />
      {label}
    </Link>
  )
}

/** Also says where one is when the navigation is folded away. */
export function Wordmark({ isShort = false }: { readonly isShort?: boolean }) {
  return (
    <span className="flex items-center gap-2 font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" className="size-6" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <path d="M7 10h18M16 10v14" className="stroke-on-accent" strokeWidth="4" strokeLinecap="round" />
        <circle cx="24" cy="22" r="3" className="fill-on-accent" opacity="0.6" />
      </svg>
      <span className={isShort ? 'hidden sm:inline' : undefined}>Turnpike</span>
    </span>
  )
}
