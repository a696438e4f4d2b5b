/** The way to every view that one has the right to see. */
import { Link } from '@tanstack/react-router'
import { useMe } from '../api/me.ts'
import { type Destination, MAIN, reachable } from './navigation.ts'

export function NavigationList() {
  const { rights } = useMe()
  return (
    <nav aria-label="Main" className="flex flex-col gap-0.5 overflow-y-auto px-2 py-1">
      {reachable(MAIN, rights).map((destination) => (
        <NavigationLink key={destination.to} {...destination} />
      ))}
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
