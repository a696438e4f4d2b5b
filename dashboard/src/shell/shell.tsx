/** What stands around every view: the way to all others, who is signed in, and what is left of the credit. */

import { type ErrorComponentProps, Outlet, useRouterState } from '@tanstack/react-router'
import { Compass, Menu as MenuIcon, Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { useMe } from '../api/me.ts'
import { Announcer } from '../ui/announcer.tsx'
import { IconButton, LinkButton } from '../ui/button.tsx'
import { CommandLine } from '../ui/code.tsx'
import { Page } from '../ui/page.tsx'
import { Empty, Failed, SkeletonRows } from '../ui/states.tsx'
import { AccountMenu } from './account-menu.tsx'
import { BalanceChip } from './balance-chip.tsx'
import { useLostFocus } from './lost-focus.ts'
import { NavigationList, Wordmark } from './navigation-list.tsx'
import { OfflineBanner, SandboxBanner } from './sandbox-banner.tsx'
import { useShortcuts } from './shortcuts.ts'
import { VersionLine } from './version-line.tsx'

// Loaded when they are first opened.
const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))
const NavigationDrawer = lazy(async () => ({ default: (await import('./navigation-drawer.tsx')).NavigationDrawer }))
const HelpDialog = lazy(async () => ({ default: (await import('./help-dialog.tsx')).HelpDialog }))

export function Shell() {
  const [isDrawerOpen, openDrawer] = useState(false)
  const [isPaletteOpen, openPalette] = useState(false)
  const [isHelpOpen, openHelp] = useState(false)
  useShortcuts({ openPalette: () => openPalette(true), openHelp: () => openHelp(true) })
  useFocusOfView()
  useLostFocus()
  return (
    <div className="flex min-h-dvh bg-canvas text-ink">
      <a href="#view" className="skip-link">
        Skip to content
      </a>
      <aside className="sticky top-0 hidden h-dvh w-56 shrink-0 flex-col border-r border-line bg-surface lg:flex">
        <div className="flex h-14 items-center px-4">
          <Wordmark />
        </div>
        <NavigationList onHelp={() => openHelp(true)} />
        <div className="mt-auto border-t border-line p-2">
          <VersionLine />
          <AccountMenu />
        </div>
      </aside>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-20 flex h-14 items-center gap-2 border-b border-line bg-canvas px-3 sm:px-6">
          <div className="flex items-center gap-2 lg:hidden">
            <IconButton label="Open navigation" icon={MenuIcon} onClick={() => openDrawer(true)} />
            <Wordmark isShort />
          </div>
          <button type="button" className="palette-trigger" onClick={() => openPalette(true)}>
            <Search aria-hidden="true" className="size-4" />
            <span className="hidden sm:inline">Search or jump to…</span>
            <span className="sr-only sm:hidden">Search or jump to</span>
            <kbd className="hidden sm:inline">Ctrl K</kbd>
          </button>
          <div className="ml-auto">
            <BalanceChip />
          </div>
        </header>
        <OfflineBanner />
        <SandboxBanner />
        <main id="view" tabIndex={-1} className="min-w-0 flex-1 px-3 py-6 outline-none sm:px-6 lg:px-8">
          <CommandLine value={useMe().commandLine}>
            <Outlet />
          </CommandLine>
        </main>
      </div>
      <Suspense>
        {isDrawerOpen && <NavigationDrawer open onOpenChange={openDrawer} onHelp={() => openHelp(true)} />}
        {isPaletteOpen && <Palette open onOpenChange={openPalette} />}
        {isHelpOpen && <HelpDialog open onOpenChange={openHelp} />}
      </Suspense>
      <Announcer />
    </div>
  )
}

/** After going to another view the keyboard begins there, as after a page that was loaded. */
function useFocusOfView(): void {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const before = useRef(path)
  useEffect(() => {
    const isMove = before.current !== undefined && path !== before.current
    before.current = path
    const isInDialog = document.activeElement?.closest('[role="dialog"], [role="alertdialog"]') != null
    if (isMove && !isInDialog) document.getElementById('view')?.focus({ preventScroll: true })
  }, [path])
}

export function LostPage() {
  return (
    <Page title="Not found">
      <Empty icon={Compass} title="This page does not exist." action={<LinkButton to="/">Go to Home</LinkButton>} />
    </Page>
  )
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return (
    <div className="mx-auto max-w-3xl p-6">
      <h1 className="mb-4 text-xl font-semibold">This page could not be displayed</h1>
      <Failed error={error} onRetry={reset} />
    </div>
  )
}

export function PagePending() {
  return <SkeletonRows rows={8} />
}
