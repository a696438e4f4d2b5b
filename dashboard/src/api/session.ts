/** The access token of the page: in memory only, and renewed by the cookie of sign-in before it ends. */
import { parseProblem } from './problem.ts'

export interface SessionView {
  readonly access_token: string
  /** Seconds. */
  readonly expires_in: number
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  readonly account: { readonly id: string; readonly name: string }
  readonly accounts: readonly { readonly id: string; readonly name: string; readonly role: string }[]
  readonly role: string
}

/** So long before its end a token is not used any more. */
const EARLY_MS = 60_000

let current: { readonly session: SessionView; readonly endsAt: number } | undefined
let renewal: Promise<SessionView> | undefined

/** The session, renewed when its token is about to end. Where nobody is signed in, the browser is sent to sign in. */
export async function readSession(): Promise<SessionView> {
  if (current !== undefined && Date.now() < current.endsAt - EARLY_MS) return current.session
  renewal ??= renew({}).finally(() => {
    renewal = undefined
  })
  return renewal
}

/** The token was refused: the next request asks for another one. */
export function dropToken(): void {
  current = undefined
}

/** Goes over to another account of the person. */
export function moveToAccount(accountId: string): Promise<SessionView> {
  return renew({ account_id: accountId })
}

export async function signOut(): Promise<void> {
  await fetch('/auth/sign-out', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
  current = undefined
  location.assign('/sign-in')
}

async function renew(body: object): Promise<SessionView> {
  const response = await fetch('/auth/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.status === 401) return goToSignIn()
  if (!response.ok) throw parseProblem(response, answer)
  const session = answer as SessionView // the gateway's own answer, of its own version
  current = { session, endsAt: Date.now() + session.expires_in * 1000 }
  return session
}

/** Never resolves: the page is left. */
function goToSignIn(): Promise<never> {
  const { pathname, search, hash } = location
  location.assign(`/sign-in?${new URLSearchParams({ next: `${pathname}${search}${hash}` })}`)
  return new Promise(() => {})
}
