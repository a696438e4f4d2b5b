/** The views of Settings, with the way from one to the other. */
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useMe } from '../../api/me.ts'
import { type Destination, OPERATOR, reachable, SETTINGS } from '../../shell/navigation.ts'

export function SettingsFrame() {
  const { rights } = useMe()
  const ofInstallation = reachable(OPERATOR, rights)
  const list = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  // Where the list is one line, the view that is seen is in sight.
  useEffect(() => {
    const links = [...(list.current?.querySelectorAll('a') ?? [])]
    links.find(({ href }) => href.endsWith(path))?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  return (
    <div className="flex flex-col gap-6 xl:flex-row xl:gap-8">
      <nav
        ref={list}
        aria-label="Settings"
        className="-m-1 flex shrink-0 gap-1 overflow-x-auto p-1 [scrollbar-width:none] xl:sticky xl:top-20 xl:w-46 xl:flex-col xl:self-start"
      >
        <Links list={reachable(SETTINGS, rights)} />
        {ofInstallation.length > 0 && (
          <>
            <h2 className="hidden px-2 pt-4 pb-1 text-xs font-medium text-soft xl:block">Installation</h2>
            <Links list={ofInstallation} />
          </>
        )}
      </nav>
      <div className="min-w-0 flex-1">
        <Outlet />
      </div>
    </div>
  )
}

function Links({ list }: { readonly list: readonly Destination[] }) {
  return list.map(({ to, label, icon: Icon }) => (
    <Link key={to} to={to} className="navigation-link whitespace-nowrap" activeProps={{ 'aria-current': 'page' }}>
      <Icon aria-hidden="true" className="size-4 shrink-0" />
      {label}
    </Link>
  ))
}
