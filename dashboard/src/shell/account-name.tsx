/** Who is signed in, and in which account. */
import { ChevronsUpDown, UserRound } from 'lucide-react'
import { useMe } from '../api/me.ts'

export function AccountName() {
  const { user, account } = useMe()
  return (
    <>
      <span className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-accent">
        <UserRound aria-hidden="true" className="size-4" />
      </span>
      <span className="min-w-0 text-left">
        <span className="block truncate text-sm font-medium">
          <span className="sr-only">Account </span>
          {account.name}
        </span>
        <span className="block truncate text-xs text-soft">{user.email}</span>
      </span>
      <ChevronsUpDown aria-hidden="true" className="ml-auto size-4 shrink-0 text-soft" />
    </>
  )
}
