/** Serves `/sign-in`, `/app/sign-in` and `/invitation`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserSession, SignInChoice } from '../../domain/identity/sign-in.ts'
import { isLoopbackUrl } from '../../lib/ip-address.ts'
import { readCookie, renderCookie } from '../request-headers.ts'
import { originOfRequest } from '../request-origin.ts'
import { formField, isFresh, type PagesDeps, queryField, sendPage } from './context.ts'
import {
  type Html,
  html,
  type Membership,
  renderAccountChoice,
  renderOutcome,
  renderPage,
  renderWho,
} from './layout.ts'

const LONGEST_TOKEN = 200
const GONE = 410

export function signInPageRoutes(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/sign-in', async (request, reply) => {
    const asked = queryField(request, 'next')
    const next = asked === undefined ? undefined : deps.localPath(asked)
    const session = await deps.sessions.find(request.headers.cookie)
    const isInsecure = isInsecureRequest(request)
    const { choices, commandLine } = deps
    if (session === undefined) {
      // One-time links do not carry `next`.
      if (next !== undefined && choices.length === 0) reply.header('set-cookie', nextCookie(next))
      return sendPage(reply, renderSignIn({ choices, commandLine, next, isInsecure }))
    }
    if (next === undefined) return sendPage(reply, renderSignedIn(session))
    if (isFresh(session, deps.now())) return reply.redirect(next, 303)
    return sendPage(reply, renderSignIn({ choices, commandLine, next, again: session, isInsecure }))
  })
  app.get('/app/sign-in', async (request, reply) => {
    const session = await deps.sessions.find(request.headers.cookie)
    return sendPage(reply, renderLinkPage(session, isInsecureRequest(request)))
  })
  app.get('/invitation', async (request, reply) => {
    return sendPage(reply, renderInvitation(await deps.sessions.find(request.headers.cookie)))
  })
  app.post('/invitation', async (request, reply) => {
    const invitation = formField(request, 'token').trim().slice(0, LONGEST_TOKEN)
    const session = await deps.sessions.find(request.headers.cookie)
    // The token continues in a URL of this server, which is not logged; `no-referrer` keeps browsers from passing it on.
    if (session === undefined) return sendPage(reply, renderInvitationChoices({ choices: deps.choices, invitation }))
    if (formField(request, 'accept') !== 'yes') return sendPage(reply, renderInvitationQuestion(session, invitation))
    return accept(deps, { request, reply, session, invitation })
  })
}

interface Acceptance {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: BrowserSession
  readonly invitation: string
}

/** Accepts an invitation and switches the session to its account. */
async function accept(deps: PagesDeps, { request, reply, session, invitation }: Acceptance): Promise<FastifyReply> {
  const origin = originOfRequest(request)
  const answer = await deps.people.accept(invitation, { userId: session.userId, origin })
  if (answer.kind === 'refused') return sendPage(reply, renderOutcome(INVITATION_OVER), GONE)
  const { accountId, accountName, role } = answer
  if (accountId !== session.accountId) await deps.sessions.move(session, accountId, origin)
  const title = answer.kind === 'joined' ? `Welcome to ${accountName}` : `You are already a member of ${accountName}`
  const action = { href: '/app/', label: 'Continue' }
  return sendPage(reply, renderOutcome({ sign: 'good', title, text: `Your role in this account is ${role}.`, action }))
}

const INVITATION_OVER = {
  title: 'This invitation is no longer valid',
  text: 'It is incorrect, older than 7 days, revoked, or already used. Ask the sender for another one.',
  action: { href: '/app/', label: 'Home' },
}

/**
 * Whether browsers reject `Secure` cookies from this address. They accept them over TLS and from the local machine, and
 * send `Sec-Fetch-Site` only there, also where a proxy terminates TLS.
 */
function isInsecureRequest({ protocol, host, headers }: FastifyRequest): boolean {
  if (protocol === 'https' || headers['sec-fetch-site'] !== undefined) return false
  const address = `http://${host}`
  return !(URL.canParse(address) && isLoopbackUrl(new URL(address)))
}

/*
 * The page to return to after a sign-in by one-time link. The link comes from a terminal and does not know the page, so a
 * cookie stores it for the lifetime of a link. Readers must reduce it to a local path: another application on the host may
 * have set it.
 */

const COOKIE = '__Host-turnpike-next'
const LIFE_MS = 15 * 60_000

/** The value of `Set-Cookie`. @param next A local path. */
export function nextCookie(next: string): string {
  return renderCookie(COOKIE, encodeURIComponent(next), LIFE_MS)
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_NEXT = renderCookie(COOKIE, '', 0)

/** Returns undefined if the cookie is missing, duplicated or unreadable. @param cookies The `Cookie` header. */
export function readNextCookie(cookies: string | undefined): string | undefined {
  const value = readCookie(cookies, COOKIE)
  if (value === undefined) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined // another application set it
  }
}

/* Pages of sign-in by identity provider, one-time link and invitation; and the home page without a dashboard. */

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

function renderSignIn({ choices, commandLine, next, again, isInsecure }: SignInView): string {
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
function renderSignedIn(session: BrowserSession): string {
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
function renderLinkPage(session: BrowserSession | undefined, isInsecure: boolean): string {
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
function renderInvitation(session: BrowserSession | undefined): string {
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
function renderInvitationQuestion(session: BrowserSession, invitation?: string): string {
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
function renderInvitationChoices({ choices, invitation }: InvitedView): string {
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
