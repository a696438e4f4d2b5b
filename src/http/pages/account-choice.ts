/** Who is signed in, in which account, and the ways to be somebody else or elsewhere. */
import type { AccountId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import type { BrowserSession } from '../../domain/sign-in.ts'
import { type Html, html } from './html.ts'

/** An account that a person belongs to. */
export interface Membership {
  readonly id: AccountId
  readonly name: string
  readonly role: Role
}

export interface AccountChoice {
  readonly session: BrowserSession
  readonly accounts: readonly Membership[]
  /** Where to go afterwards. */
  readonly next: string
}

/** Nothing when there is no other account. */
export function renderAccountChoice({ session, accounts, next }: AccountChoice): Html | false {
  const others = accounts.filter(({ id }) => id !== session.accountId)
  if (others.length === 0) return false
  const buttons = others.map(
    ({ id, name, role }) =>
      html`<button class="button second" name="account_id" value="${id}">${name} (${role})</button>`,
  )
  return html`<section><h2>Another account</h2>
<form method="post" action="/app/account"><input type="hidden" name="next" value="${next}">
<div class="buttons">${buttons}</div></form></section>`
}

export function renderWho({ email, accountName }: BrowserSession): Html {
  return html`<section class="who" aria-label="Signed in">
<p>Signed in as <strong>${email}</strong>, account <strong>${accountName}</strong>.</p>
<form method="post" action="/auth/sign-out"><button class="link">Sign out</button></form>
</section>`
}
