/** `/activate`: the code, the request, the decision. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RIGHTS, type Right, rightsOfRole } from '../../domain/identity/caller.ts'
import type { ActivationBlock, ActivationRequest, BrowserSession } from '../../domain/identity/sign-in.ts'
import { originOfRequest } from '../request-origin.ts'
import { formField, isFresh, type PagesDeps, queryField, sendPage } from './context.ts'
import {
  type Html,
  html,
  type Membership,
  type Outcome,
  renderAccountChoice,
  renderOutcome,
  renderPage,
  renderWho,
} from './layout.ts'

const LONGEST_CODE = 24
const WRONG_CODE = 400
const GONE = 410
const BLOCKED = 429

export function activationRoutes(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/activate', async (request, reply) => {
    const typed = codeOf(queryField(request, 'user_code') ?? '')
    const session = await freshSession(deps, request)
    if (session === undefined) return toSignIn(reply, typed)
    return sendPage(reply, renderCodeForm({ session, typed }))
  })
  app.post('/activate', async (request, reply) => {
    const typed = codeOf(formField(request, 'user_code'))
    const session = await freshSession(deps, request)
    if (session === undefined) return toSignIn(reply, typed)
    return lookUp(deps, { request, reply, session, typed })
  })
  app.post('/activate/decision', async (request, reply) => {
    const typed = codeOf(formField(request, 'user_code'))
    const session = await freshSession(deps, request)
    if (session === undefined) return toSignIn(reply, typed)
    const decision = formField(request, 'decision')
    if (decision !== 'approve' && decision !== 'deny') return lookUp(deps, { request, reply, session, typed })
    const approve = decision === 'approve'
    const done = await deps.activation.decide(typed, { approve, session, origin: originOfRequest(request) })
    if (typeof done === 'object') return sendBlocked(reply, done)
    if (!done) return sendPage(reply, renderOutcome(OUTCOMES.over), GONE)
    return reply.redirect(approve ? '/activate/approved' : '/activate/denied', 303)
  })
  // Redirects, not responses to the form: mobile browsers reload pages that they discarded.
  app.get('/activate/approved', (_request, reply) => sendPage(reply, renderOutcome(OUTCOMES.approved)))
  app.get('/activate/denied', (_request, reply) => sendPage(reply, renderOutcome(OUTCOMES.denied)))
}

interface Visit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: BrowserSession
  readonly typed: string
}

async function lookUp(deps: PagesDeps, { request, reply, session, typed }: Visit): Promise<FastifyReply> {
  const origin = originOfRequest(request)
  const found = await deps.activation.find(typed, { session, origin })
  if (found.kind === 'unknown') return sendPage(reply, renderCodeForm({ session, typed, isWrong: true }), WRONG_CODE)
  if (found.kind === 'blocked') return sendBlocked(reply, found)
  const accounts = await deps.people.accountsOf(session.userId)
  const question = { request: found.request, session, address: origin.address, accounts, now: deps.now() }
  return sendPage(reply, renderQuestion(question))
}

function sendBlocked(reply: FastifyReply, { retryAfterMs }: ActivationBlock): FastifyReply {
  reply.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return sendPage(reply, renderBlocked(retryAfterMs), BLOCKED)
}

async function freshSession(deps: PagesDeps, request: FastifyRequest): Promise<BrowserSession | undefined> {
  const session = await deps.sessions.find(request.headers.cookie)
  return session !== undefined && isFresh(session, deps.now()) ? session : undefined
}

function toSignIn(reply: FastifyReply, typed: string): FastifyReply {
  const next = typed === '' ? '/activate' : `/activate?${new URLSearchParams({ user_code: typed })}`
  return reply.redirect(`/sign-in?${new URLSearchParams({ next })}`, 303)
}

/** Returns the code as typed. A longer text is discarded: it may be a secret, which no page or URL must repeat. */
function codeOf(text: string): string {
  const typed = text.trim()
  return typed.length > LONGEST_CODE ? '' : typed
}

/* Pages of device activation: the code, the request with its rights, the outcome. */

interface CodeForm {
  readonly session: BrowserSession
  /** The content of the field. */
  readonly typed: string
  /** Whether the last code was rejected. */
  readonly isWrong?: boolean
}

/** Fills in a code from the URL, which the person then submits. */
function renderCodeForm({ session, typed, isWrong = false }: CodeForm): string {
  const field = html`<input class="user-code" type="text" id="user_code" name="user_code" value="${typed}" placeholder="XXXX-XXXX"
 required maxlength="64" inputmode="text" autocomplete="one-time-code" autocapitalize="characters" autocorrect="off" spellcheck="false"
 aria-describedby="${isWrong && 'user_code_error '}user_code_hint"${isWrong && html` aria-invalid="true"`} autofocus>`
  const content = html`<h1>Connect a device</h1>
<p class="lead">Enter the code that the device shows. The next page shows which program requests access.</p>
<form method="post" action="/activate">
<div class="field"><label for="user_code">Code</label>
${field}
${isWrong && html`<p class="error" id="user_code_error">No pending request has this code.</p>`}
<p class="hint" id="user_code_hint">${isWrong ? WRONG_HINT : HINT}</p></div>
<button class="button">Continue</button>
</form>
${renderWho(session)}`
  return renderPage({ title: isWrong ? 'Wrong code: connect a device' : 'Connect a device', content })
}

const HINT = 'Eight letters. Upper or lower case, with or without the dash.'
const WRONG_HINT =
  'Compare it with the device: eight letters, no digits. A code is valid for 15 minutes and for one decision; if it has expired, restart the request on the device.'

export interface Question {
  readonly request: ActivationRequest
  readonly session: BrowserSession
  /** The address of the browser. */
  readonly address: string
  /** Accounts that the person belongs to. */
  readonly accounts: readonly Membership[]
  /** Unix milliseconds. */
  readonly now: number
}

function renderQuestion(question: Question): string {
  const { request, session, accounts, now } = question
  const { userCode, clientName, offline } = request
  const rights = rightsOfRole(session.role)
  const granted = request.scopes.filter((scope) => rights.has(scope))
  const content = html`<h1>Connect ${clientName}?</h1>
<p class="lead">Compare this code with the one on your device. Continue only if they match.</p>
<p class="code-to-compare">${userCode}</p>
<dl>${renderFacts(question)}</dl>
<h2>It can</h2>
${renderRights('may', granted)}
${renderLack(question, granted)}
<h2>It cannot</h2>
${renderRights('not', NEVER)}
<p class="note">${offline ? STAYS : LEAVES} The code expires in ${minutes(request.expiresAt - now)}.</p>
<p class="warning"><strong>If you did not start this request, deny it.</strong> Someone may be trying to access your account.</p>
<form method="post" action="/activate/decision">
<input type="hidden" name="user_code" value="${userCode}">
<div class="buttons pair">${granted.length > 0 && APPROVE}${DENY}</div>
</form>
${renderAccountChoice({ session, accounts, next: `/activate?user_code=${userCode}` })}
${renderWho(session)}`
  return renderPage({ title: `Connect ${clientName}?`, content })
}

/** Rights that no device gets. */
const NEVER: readonly Right[] = ['keys', 'billing', 'members']
const STAYS = 'The device stays connected until you disconnect it, for at most 180 days.'
const LEAVES = 'The device is connected for one hour; then it must request access again.'
const APPROVE = html`<button class="button" name="decision" value="approve">Approve</button>`
const DENY = html`<button class="button second" name="decision" value="deny">Deny</button>`

function renderFacts({ request, session, address, now }: Question): readonly Html[] {
  const device = describeUserAgent(request.userAgent)
  const program = device === undefined ? 'Unidentified program' : `Identifies as ${device}`
  const facts: (readonly [string, string, string | undefined])[] = [
    ['Client', request.clientName, program],
    ['Address', readableText(request.address ?? 'unknown'), comparison(request.address, address)],
    ['Requested', ago(now - request.requestedAt), undefined],
    ['Account', session.accountName, `As ${session.email} (${session.role})`],
  ]
  return facts.map(
    ([name, value, note]) => html`<div><dt>${name}</dt>
<dd>${value}${note !== undefined && html`<small>${note}</small>`}</dd></div>`,
  )
}

function comparison(device: string | undefined, browser: string): string | undefined {
  if (device === undefined) return undefined
  return device === browser ? 'Same address as this browser' : `Different from this browser (${browser})`
}

function renderRights(kind: 'may' | 'not', rights: readonly Right[]): Html | false {
  if (rights.length === 0) return kind === 'may' && html`<p>Nothing.</p>`
  return html`<ul class="rights ${kind}">${rights.map((right) => html`<li>${RIGHTS[right].may}</li>`)}</ul>`
}

function renderLack({ request, session }: Question, granted: readonly Right[]): Html | false {
  const lacking = request.scopes.filter((scope) => !granted.includes(scope))
  if (lacking.length === 0) return false
  return html`<p class="hint">The request exceeds what your role (${session.role}) allows:</p>${renderRights('not', lacking)}`
}

/** Pages that report the outcome of a request. */
const OUTCOMES: Readonly<Record<'approved' | 'denied' | 'over', Outcome>> = {
  approved: {
    sign: 'good',
    title: 'Your device is connected',
    text: 'You can close this window and return to the device, which continues within a few seconds.',
  },
  denied: {
    sign: 'bad',
    title: 'You denied the request',
    text: 'The device gets no access. You can close this window.',
  },
  over: {
    title: 'This request is no longer valid',
    text: 'It expired, or was approved or denied, perhaps in another window. The device shows which; if it still waits, restart the request there.',
    action: { href: '/activate', label: 'Enter another code' },
  },
}

function renderBlocked(retryAfterMs: number): string {
  return renderOutcome({
    sign: 'bad',
    title: 'Too many wrong codes',
    text: `The gateway rejects further codes for ${minutes(retryAfterMs)}. The device can wait, or restart the request.`,
  })
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Returns text such as `2 minutes ago`; for the future `just now`, since clocks of machines differ. */
function ago(ms: number): string {
  if (ms < MINUTE_MS) return 'just now'
  if (ms < HOUR_MS) return `${count(Math.floor(ms / MINUTE_MS), 'minute')} ago`
  if (ms < DAY_MS) return `${count(Math.floor(ms / HOUR_MS), 'hour')} ago`
  return `${count(Math.floor(ms / DAY_MS), 'day')} ago`
}

/** Returns text such as `10 minutes`, rounded up, at least one. */
function minutes(ms: number): string {
  return count(Math.max(1, Math.ceil(ms / MINUTE_MS)), 'minute')
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}

/* User agents in words. Programs choose their own: nothing of it is verified. */

const LONGEST = 60
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iOS)\b/, 'iOS'],
  [/\bAndroid\b/i, 'Android'],
  [/\bWindows|\bwin32\b/i, 'Windows'],
  [/\bMac ?OS|\bMacintosh|\bdarwin\b/i, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\blinux\b/i, 'Linux'],
]
/** The more specific ones first: all claim to be Safari, and most Chrome. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

/** Returns text such as `turnpike on Linux`; undefined without readable text. */
export function describeUserAgent(userAgent: string | undefined): string | undefined {
  const readable = readableText(userAgent ?? '')
  const program = readable.startsWith('Mozilla/') ? find(BROWSERS, readable) : firstName(readable)
  const system = find(SYSTEMS, readable)
  if (program === undefined) return system === undefined ? undefined : `a program on ${system}`
  return system === undefined || program.toLowerCase() === system.toLowerCase() ? program : `${program} on ${system}`
}

/** Removes invisible characters and those that change the direction of writing. */
function readableText(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
}

function find(names: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1]
}

/** Returns the part before the slash of `turnpike-cli/1.2 (linux; x64)`. */
function firstName(text: string): string | undefined {
  const name = text.split(/[/(;]/, 1)[0]?.trim().slice(0, LONGEST) ?? ''
  return name === '' ? undefined : name
}
