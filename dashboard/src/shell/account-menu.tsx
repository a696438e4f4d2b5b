/** Who is signed in, in which account, and the way into others and out. The menu's code is loaded when it is first opened. */
import { lazy, Suspense, useState } from 'react'
import { AccountName } from './account-name.tsx'

const load = () => import('./account-menu-opened.tsx')
const AccountMenuOpened = lazy(async () => ({ default: (await load()).AccountMenuOpened }))

export function AccountMenu() {
  const [isWanted, want] = useState(false)
  const closed = (
    <button
      type="button"
      className="account-trigger"
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={() => void load()}
      onFocus={() => void load()}
      onClick={() => want(true)}
    >
      <AccountName />
    </button>
  )
  if (!isWanted) return closed
  return (
    <Suspense fallback={closed}>
      <AccountMenuOpened />
    </Suspense>
  )
}
