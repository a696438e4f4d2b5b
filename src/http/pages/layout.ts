/** The frame of every page: plain HTML that is complete without script. */
import type { Role } from '../../domain/identity/caller.ts'
import type { BrowserSession } from '../../domain/identity/sign-in.ts'
import type { AccountId } from '../../domain/ids.ts'
import { escapeHtml } from '../../lib/text.ts'
import { ICON_IMAGE, SCRIPT, STYLE } from './assets.ts'

/** Markup that is safe in a page: a template escapes every value that is not markup itself. */
export interface Html {
  readonly markup: string
}

/** Values of a template; `undefined` and `false` render nothing. */
type Part = string | number | Html | undefined | false | readonly Part[]

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: texts.map((text, index) => text + render(parts[index])).join('') }
}

function render(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  return 'markup' in part ? part.markup : part.map(render).join('')
}

export interface Page {
  /** The title of the window, without the name of the product. */
  readonly title: string
  /** The content, which begins with the `h1`. */
  readonly content: Html
  /** Includes the script that reads a token from the URL. */
  readonly takesToken?: boolean
}

export function renderPage({ title, content, takesToken = false }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} – Turnpike</title>
<link rel="stylesheet" href="${STYLE.path}">
<link rel="icon" type="image/svg+xml" href="${ICON_IMAGE.path}">
${takesToken && html`<script src="${SCRIPT.path}" defer></script>`}
</head>
<body>
<header><a class="brand" href="/app/"><img src="${ICON_IMAGE.path}" width="28" height="28" alt="">Turnpike</a></header>
<main>
${content}
</main>
<footer><a href="/docs/">Documentation</a></footer>
</body>
</html>
`.markup
}

/** A page that reports a result. */
export interface Outcome {
  readonly title: string
  readonly text: string
  readonly action?: { readonly href: string; readonly label: string }
  /** The icon above the title. */
  readonly sign?: Sign
}

type Sign = 'good' | 'bad'

export function renderOutcome({ title, text, action, sign }: Outcome): string {
  const content = html`${sign !== undefined && renderSign(sign)}
<h1>${title}</h1>
<p class="lead">${text}</p>
${action !== undefined && html`<a class="button" href="${action.href}">${action.label}</a>`}`
  return renderPage({ title, content })
}

const STROKES: Readonly<Record<Sign, string>> = { good: 'M5 12.5l4.5 4.5L19 7.5', bad: 'M7 7l10 10M17 7L7 17' }

function renderSign(sign: Sign): Html {
  return html`<div class="sign ${sign}" aria-hidden="true"><svg width="24" height="24" viewBox="0 0 24 24" fill="none"
stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"><path d="${STROKES[sign]}"/></svg></div>`
}

/** An account that a person is a member of. */
export interface Membership {
  readonly id: AccountId
  readonly name: string
  readonly role: Role
}

interface AccountChoice {
  readonly session: BrowserSession
  readonly accounts: readonly Membership[]
  /** The path at which to continue. */
  readonly next: string
}

/** Renders buttons that switch the account; false without another account. */
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
