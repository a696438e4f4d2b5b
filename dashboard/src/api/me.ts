/** Who is signed in, and what they may do. Loaded before any page. */
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, take } from './client.ts'
import { readSession } from './session.ts'

export interface Me {
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  readonly account: { readonly id: string; readonly name: string; readonly plan: string }
  readonly accounts: readonly { readonly id: string; readonly name: string; readonly role: string }[]
  readonly role: string
  readonly rights: ReadonlySet<string>
  readonly version: string
  /** For operators; null: none is known. */
  readonly newerRelease: string | null
  /** How the command line is called where this gateway is installed. */
  readonly commandLine: string
}

export const meQuery = queryOptions({
  queryKey: ['/v1/me'],
  staleTime: 60_000,
  async queryFn(): Promise<Me> {
    const [session, me] = await Promise.all([readSession(), take(api.GET('/v1/me'))])
    const { user, accounts, role } = session
    const rights = new Set(me.credential.scopes)
    const { account, version, newer_release: newerRelease, command_line: commandLine } = me
    return { user, accounts, role, account, rights, version, newerRelease, commandLine }
  },
})

export function useMe(): Me {
  return useSuspenseQuery(meQuery).data
}

/** @param right By its name in the table of rights: `keys`, `usage:read`, `operator`… */
export function useCan(right: string): boolean {
  return useMe().rights.has(right)
}
