/** What the person sees who lets a device in. */
import { RIGHTS, type Right, rightsOfRole } from '../../domain/identity/caller.ts'
import type { ActivationRequest, BrowserSession } from '../../domain/identity/sign-in.ts'
import {
  type Html,
  html,
  type Membership,
  renderAccountChoice,
  renderOutcome,
  renderPage,
  renderWho,
} from './layout.ts'

export interface CodeForm {
  readonly session: BrowserSession
  /** What is in the field. */
  readonly typed: string
  /** The last code was no good. */
  readonly isWrong?: boolean
}

/** A code that came with the address is filled in, and nothing more: the person sends it. */
export function renderCodeForm({ session, typed, isWrong = false }: CodeForm): string {
  const field = html`<input class="user-code" type="text" id="user_code" name="user_code" value="${typed}" placeholder="XXXX-XXXX"
 required maxlength="64" inputmode="text" autocomplete="one-time-code" autocapitalize="characters" autocorrect="off" spellcheck="false"
 aria-describedby="${isWrong && 'user_code_error '}user_code_hint"${isWrong && html` aria-invalid="true"`} autofocus>`
  const content = html`<h1>Connect a device</h1>
<p class="lead">Type the code that the device shows you. On the next page you see who is asking.</p>
<form method="post" action="/activate">
<div class="field"><label for="user_code">Code</label>
${field}
${isWrong && html`<p class="error" id="user_code_error">No device is waiting with this code.</p>`}
<p class="hint" id="user_code_hint">${isWrong ? WRONG_HINT : HINT}</p></div>
<button class="button">Continue</button>
</form>
${renderWho(session)}`
  return renderPage({ title: isWrong ? 'Wrong code: connect a device' : 'Connect a device', content })
}

const HINT = 'Eight letters. Upper or lower case, with or without the dash.'
const WRONG_HINT =
  'Compare it with what the device shows: eight letters, no digits. A code is good for 15 minutes and for one decision; if it is older, let the device begin again.'

export interface Question {
  readonly request: ActivationRequest
  readonly session: BrowserSession
  /** Of the browser. */
  readonly address: string
  /** Accounts that the person belongs to. */
  readonly accounts: readonly Membership[]
  /** Unix milliseconds. */
  readonly now: number
}

export function renderQuestion(question: Question): string {
  const { request, session, accounts, now } = question
  const { userCode, clientName, offline } = request
  const rights = rightsOfRole(session.role)
  const granted = request.scopes.filter((scope) => rights.has(scope))
  const content = html`<h1>Let ${clientName} in?</h1>
<p class="lead">Compare the code with the one your device shows. Only go on if they are the same.</p>
<p class="code-to-compare">${userCode}</p>
<dl>${renderFacts(question)}</dl>
<h2>It may</h2>
${renderRights('may', granted)}
${renderLack(question, granted)}
<h2>It cannot</h2>
${renderRights('not', NEVER)}
<p class="note">${offline ? STAYS : LEAVES} The code is good for another ${minutes(request.expiresAt - now)}.</p>
<p class="warning"><strong>You did not start this? Deny.</strong> Somebody may be trying to get into your account.</p>
<form method="post" action="/activate/decision">
<input type="hidden" name="user_code" value="${userCode}">
<div class="buttons pair">${granted.length > 0 && APPROVE}${DENY}</div>
</form>
${renderAccountChoice({ session, accounts, next: `/activate?user_code=${userCode}` })}
${renderWho(session)}`
  return renderPage({ title: `Let ${clientName} in?`, content })
}

/** A device never gets these, whoever lets it in. */
const NEVER: readonly Right[] = ['keys', 'billing', 'members']
const STAYS = 'It stays connected until you disconnect it, 180 days at most.'
const LEAVES = 'It is connected for one hour, and has to ask again then.'
const APPROVE = html`<button class="button" name="decision" value="approve">Approve</button>`
const DENY = html`<button class="button second" name="decision" value="deny">Deny</button>`

function renderFacts({ request, session, address, now }: Question): readonly Html[] {
  const device = describeUserAgent(request.userAgent)
  const asking = device === undefined ? 'It does not say what it is' : `Says it is ${device}`
  const facts: (readonly [string, string, string | undefined])[] = [
    ['Client', request.clientName, asking],
    ['Address', readableText(request.address ?? 'unknown'), comparison(request.address, address)],
    ['Asked', ago(now - request.requestedAt), undefined],
    ['Account', session.accountName, `As ${session.email} (${session.role})`],
  ]
  return facts.map(
    ([name, value, note]) => html`<div><dt>${name}</dt>
<dd>${value}${note !== undefined && html`<small>${note}</small>`}</dd></div>`,
  )
}

function comparison(device: string | undefined, browser: string): string | undefined {
  if (device === undefined) return undefined
  return device === browser ? 'The same as this browser’s' : `Not this browser’s, which is ${browser}`
}

function renderRights(kind: 'may' | 'not', rights: readonly Right[]): Html | false {
  if (rights.length === 0) return kind === 'may' && html`<p>Nothing.</p>`
  return html`<ul class="rights ${kind}">${rights.map((right) => html`<li>${RIGHTS[right].may}</li>`)}</ul>`
}

function renderLack({ request, session }: Question, granted: readonly Right[]): Html | false {
  const lacking = request.scopes.filter((scope) => !granted.includes(scope))
  if (lacking.length === 0) return false
  return html`<p class="hint">It asked for more than your role, ${session.role}, allows:</p>${renderRights('not', lacking)}`
}

export function renderApproved(): string {
  return renderOutcome({
    sign: 'good',
    title: 'Your device is connected',
    text: 'You can close this window and return to your device. It goes on by itself within a few seconds.',
  })
}

export function renderDenied(): string {
  return renderOutcome({
    sign: 'bad',
    title: 'You denied the request',
    text: 'The device was not let in and gets no access. You can close this window.',
  })
}

export function renderOver(): string {
  return renderOutcome({
    title: 'This request is over',
    text: 'It was approved or denied already, perhaps in another window, or its time ran out. Your device shows which; if it still waits, let it begin again.',
    action: { href: '/activate', label: 'Type another code' },
  })
}

export function renderBlocked(retryAfterMs: number): string {
  return renderOutcome({
    sign: 'bad',
    title: 'Too many wrong codes',
    text: `No more codes are taken from here for ${minutes(retryAfterMs)}. The device can wait meanwhile, or begin again.`,
  })
}

/* Spans of time as people say them. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** @returns Such as `2 minutes ago`. Clocks of two machines differ: what is yet to come is now. */
function ago(ms: number): string {
  if (ms < MINUTE_MS) return 'just now'
  if (ms < HOUR_MS) return `${count(Math.floor(ms / MINUTE_MS), 'minute')} ago`
  if (ms < DAY_MS) return `${count(Math.floor(ms / HOUR_MS), 'hour')} ago`
  return `${count(Math.floor(ms / DAY_MS), 'day')} ago`
}

/** @returns Such as `10 minutes`, rounded up, at least one. */
function minutes(ms: number): string {
  return count(Math.max(1, Math.ceil(ms / MINUTE_MS)), 'minute')
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}

/* What a program says of itself, as people would say it. Anybody can claim to be anything. */

const LONGEST = 60
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iOS)\b/, 'iOS'],
  [/\bAndroid\b/i, 'Android'],
  [/\bWindows|\bwin32\b/i, 'Windows'],
  [/\bMac ?OS|\bMacintosh|\bdarwin\b/i, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\blinux\b/i, 'Linux'],
]
/** The more special ones first: all call themselves Safari, and most Chrome. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

/** @returns Such as `turnpike on Linux`; undefined when nothing readable is said. */
export function describeUserAgent(userAgent: string | undefined): string | undefined {
  const readable = readableText(userAgent ?? '')
  const program = readable.startsWith('Mozilla/') ? find(BROWSERS, readable) : firstName(readable)
  const system = find(SYSTEMS, readable)
  if (program === undefined) return system === undefined ? undefined : `a program on ${system}`
  return system === undefined || program.toLowerCase() === system.toLowerCase() ? program : `${program} on ${system}`
}

/** Without what cannot be seen, and what turns the direction of writing. */
function readableText(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
}

function find(names: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1]
}

/** Of `turnpike-cli/1.2 (linux; x64)` the part before the slash. */
function firstName(text: string): string | undefined {
  const name = text.split(/[/(;]/, 1)[0]?.trim().slice(0, LONGEST) ?? ''
  return name === '' ? undefined : name
}
