/** Pages of sign-in by identity provider, one-time link and invitation; and the home page without a dashboard. */
import type { BrowserSession, SignInChoice } from '../../domain/identity/sign-in.ts'
import { type Html, html, type Membership, renderAccountChoice, renderPage, renderWho } from './layout.ts'

interface SignInView {
  readonly choices: readonly SignInChoice[]
  readonly commandLine: string
  /** Local path to continue to. Undefined: the default of `/auth/…`. */
  readonly next: string | undefined
  /** A session that must be confirmed by another sign-in. */
  readonly again?: BrowserSession | undefined
  /** Browsers store no `Secure` cookie from this address. */
  readonly isInsecure: boolean
}

export function renderSignIn({ choices, commandLine, next, again, isInsecure }: SignInView): string {
  const content = html`<h1>${again === undefined ? 'Sign in' : 'Sign in again'}</h1>
${again !== undefined && html`<p class="lead">You are signed in as ${again.email}, but not recently. Sign in again to connect a device.</p>`}
${isInsecure && INSECURE}
${choices.length === 0 ? renderByLink(commandLine) : renderChoices(choices, next === undefined ? {} : { next })}`
  return renderPage({ title: again === undefined ? 'Sign in' : 'Sign in again', content })
}

const INSECURE = html`<p class="warning">Browsers store no sign-in over plain HTTP, except at
<code>localhost</code>. Open this page over HTTPS.</p>`

const renderByLink = (
  commandLine: string,
) => html`<p>This installation has no identity provider. Its operator creates a sign-in link in the terminal, which works
once, within 15 minutes:</p>
<p><code>${commandLine} login-link</code></p>
<p class="hint">Open the link in this browser to continue to the page that you requested.</p>`

/** Links, not forms: `form-action` of the content security policy also blocks redirects of forms to other origins. */
function renderChoices(choices: readonly SignInChoice[], carried: Readonly<Record<string, string>>): Html {
  const query = new URLSearchParams(carried).toString()
  const links = choices.map(({ slug, name }) => {
    const href = `/auth/${encodeURIComponent(slug)}${query === '' ? '' : `?${query}`}`
    return html`<li><a class="button" href="${href}">Continue with ${name}</a></li>`
  })
  return html`<ul class="buttons">${links}</ul>`
}

/** `/sign-in` for a user who is signed in. */
export function renderSignedIn(session: BrowserSession): string {
  const content = html`<h1>You are signed in</h1>
<p class="lead">As ${session.email}, in the account ${session.accountName}.</p>
<a class="button" href="/app/">Continue</a>
${renderWho(session)}`
  return renderPage({ title: 'You are signed in', content })
}

const TOKEN_FIELD = html`<div class="field"><label for="token">Token</label>
<input type="text" id="token" name="token" required maxlength="200" autocomplete="off" autocapitalize="none" spellcheck="false"
 aria-describedby="token_hint">
<p class="hint" id="token_hint">The part of the link after <code>#token=</code>.</p></div>`

/** The page of one-time links. Without script the user pastes the token; a signed-in user confirms. */
export function renderLinkPage(session: BrowserSession | undefined, isInsecure: boolean): string {
  const content = html`<h1>Sign in by link</h1>
${session !== undefined && html`<p class="lead">You are signed in as ${session.email}. The link ends this session and signs in the owner for whom it was created.</p>`}
${isInsecure && INSECURE}
<form method="post" action="/auth/link" data-token="${session === undefined ? 'send' : 'keep'}">
${TOKEN_FIELD}
<button class="button">Sign in</button>
</form>
${session !== undefined && renderWho(session)}`
  return renderPage({ title: 'Sign in by link', content, takesToken: true })
}

/** The page of invitation links. Accepting takes a confirmation. */
export function renderInvitation(session: BrowserSession | undefined): string {
  if (session !== undefined) return renderInvitationQuestion(session)
  const content = html`<h1>You are invited</h1>
<p class="lead">Sign in to join the account that invites you.</p>
<form method="post" action="/invitation" data-token="send">
${TOKEN_FIELD}
<button class="button">Continue</button>
</form>`
  return renderPage({ title: 'You are invited', content, takesToken: true })
}

/**
 * Renders the question for signed-in users, who confirm.
 * @param invitation Undefined if the token is in the URL of the page.
 */
export function renderInvitationQuestion(session: BrowserSession, invitation?: string): string {
  const takesToken = invitation === undefined
  const content = html`<h1>You are invited</h1>
<p class="lead">You are signed in as ${session.email}. Accept the invitation as this user?</p>
<form method="post" action="/invitation"${takesToken && html` data-token="keep"`}>
${takesToken ? TOKEN_FIELD : html`<input type="hidden" name="token" value="${invitation}">`}
<button class="button" name="accept" value="yes">Accept as ${session.email}</button></form>
${ACCEPT_AS_ANOTHER}`
  return renderPage({ title: 'You are invited', content, takesToken })
}

const ACCEPT_AS_ANOTHER = html`<p class="hint">To accept as another user, sign out first, then open the link again.</p>
<form method="post" action="/auth/sign-out"><button class="button second">Sign out</button></form>`

interface InvitedView {
  readonly choices: readonly SignInChoice[]
  readonly invitation: string
}

/** Renders the choices for users who are not signed in; signing in accepts the invitation. */
export function renderInvitationChoices({ choices, invitation }: InvitedView): string {
  const content = html`<h1>You are invited</h1>
<p class="lead">${choices.length === 0 ? NO_PROVIDER : 'Signing in makes you a member of the account that invites you.'}</p>
${choices.length > 0 && renderChoices(choices, { invitation })}`
  return renderPage({ title: 'You are invited', content })
}

const NO_PROVIDER =
  'This installation has no identity provider, so new users cannot sign in. Ask its operator to configure one, then open the link again.'

interface HomeView {
  readonly session: BrowserSession
  readonly accounts: readonly Membership[]
  /** The base URL without a trailing slash. */
  readonly publicUrl: string
}

export function renderHome({ session, accounts, publicUrl }: HomeView): string {
  const { name, email, accountName, role } = session
  const content = html`<h1>${accountName}</h1>
<p class="lead">You are signed in as ${name === '' ? email : `${name} (${email})`}, ${role}.</p>
<a class="button" href="/activate">Connect a device</a>
<h2>The API</h2>
<p>Point any OpenAI client at <code>${publicUrl}/v1</code>. <a href="/docs/">Documentation</a>,
<a href="/openapi.json">OpenAPI document</a>.</p>
<h2>Connected devices</h2>
<p><code>GET /v1/devices</code> lists them, <code>DELETE /v1/devices/{id}</code> disconnects one.</p>
${NOT_BUILT}
${renderAccountChoice({ session, accounts, next: '/app/' })}
${renderWho(session)}`
  return renderPage({ title: accountName, content })
}

const NOT_BUILT = html`<p class="hint">The dashboard is not built: run <code>npm run build:dashboard</code>, then
restart.</p>`

export function renderWelcome(publicUrl: string): string {
  const content = html`<h1>Turnpike is running</h1>
<p>Point any OpenAI client at <code>${publicUrl}/v1</code> and use an API key of this installation.</p>
<a class="button" href="/sign-in">Sign in</a>
<p class="hint"><a href="/docs/">Documentation</a>, <a href="/openapi.json">OpenAPI document</a>. In the terminal,
<code>turnpike keys</code> and <code>turnpike accounts</code> manage access.</p>
${NOT_BUILT}`
  return renderPage({ title: 'Turnpike is running', content })
}
