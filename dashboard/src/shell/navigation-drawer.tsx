/** The navigation where there is no room for it beside the view. */
import { Dialog } from '@base-ui/react/dialog'
import { useRouterState } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { IconButton } from '../ui/button.tsx'
import { AccountMenu } from './account-menu.tsx'
import { NavigationList, Wordmark } from './navigation-list.tsx'
import { VersionLine } from './version-line.tsx'

interface DrawerProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly onHelp: () => void
}

export function NavigationDrawer({ open, onOpenChange, onHelp }: DrawerProps) {
  useClosedByNavigation(onOpenChange)
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="fixed inset-y-0 left-0 z-50 flex w-64 max-w-[85vw] flex-col border-r border-line bg-surface outline-none">
          <div className="flex h-14 items-center justify-between px-4">
            <Dialog.Title render={<div />}>
              <Wordmark />
              <span className="sr-only">navigation</span>
            </Dialog.Title>
            <Dialog.Close render={<IconButton label="Close navigation" icon={X} />} />
          </div>
          <NavigationList
            onHelp={() => {
              onOpenChange(false)
              onHelp()
            }}
          />
          <div className="mt-auto border-t border-line p-2">
            <VersionLine />
            <AccountMenu />
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function useClosedByNavigation(onOpenChange: (open: boolean) => void): void {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const openedAt = useRef(path)
  useEffect(() => {
    if (path !== openedAt.current) onOpenChange(false)
  }, [path, onOpenChange])
}
