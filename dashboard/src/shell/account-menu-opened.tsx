/** The account menu once it was asked for: switching accounts, appearance, signing out. */
import { Menu } from '@base-ui/react/menu'
import { Check, LogOut, Palette } from 'lucide-react'
import { useMe } from '../api/me.ts'
import { moveToAccount, signOut } from '../api/session.ts'
import { AppLink } from '../ui/app-link.tsx'
import { AccountName } from './account-name.tsx'

export function AccountMenuOpened() {
  const { user, account, accounts, role } = useMe()
  return (
    <Menu.Root defaultOpen>
      <Menu.Trigger className="account-trigger">
        <AccountName />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner side="top" align="start" sideOffset={6} className="z-50">
          <Menu.Popup className="menu-popup w-60">
            <Menu.Group>
              <Menu.GroupLabel className="menu-label">
                Signed in as {user.email} ({role})
              </Menu.GroupLabel>
              {accounts.map(({ id, name, role: there }) => (
                <Menu.Item key={id} className="menu-item" onClick={() => void goTo(id, account.id)}>
                  <span className="min-w-0 flex-1 truncate">{name}</span>
                  <span className="text-xs text-soft">{there}</span>
                  {id === account.id && <Check aria-label="current" className="size-4 shrink-0" />}
                </Menu.Item>
              ))}
            </Menu.Group>
            <Menu.Separator className="menu-separator" />
            <Menu.Item className="menu-item" render={<AppLink to="/settings/appearance" />}>
              <Palette aria-hidden="true" className="size-4" /> Appearance
            </Menu.Item>
            <Menu.Item className="menu-item" onClick={() => void signOut()}>
              <LogOut aria-hidden="true" className="size-4" /> Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

/** Reloads the dashboard: all loaded data belongs to another account. */
async function goTo(accountId: string, currentId: string): Promise<void> {
  if (accountId === currentId) return
  await moveToAccount(accountId)
  location.assign('/app/')
}
