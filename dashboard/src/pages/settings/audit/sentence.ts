/** Entries of the audit log as sentences: who did what to which. */
import { nameOfRole } from '../members/rights.ts'

/** What of an entry is read. */
export interface AuditEntry {
  readonly actor: { readonly kind: string; readonly id: string | null; readonly name: string | null }
  readonly action: string
  readonly subject: string | null
  readonly result: string
  readonly details: Readonly<Record<string, unknown>>
}

/** What a person or a key is called; undefined where it is not known. */
export type NameOf = (id: string) => string | undefined

interface EntryText {
  /** A detail that is text; empty when it is not there. */
  readonly text: (name: string) => string
  /** Such a one or, where the entry does not say it, what its subject is called, in quotes; the noun alone otherwise. */
  readonly named: (noun: string, detail: string) => string
  readonly details: AuditEntry['details']
  readonly nameOf: NameOf
}

/** In the past, for what was done; in the base form, for what was tried and refused; and what for. */
type Phrase = readonly [past: string, base: string, rest: (text: EntryText) => string]

const key = ({ named }: EntryText) => named('key', 'name')
const person = ({ named }: EntryText) => named('', 'email') || 'somebody'
const device = ({ text }: EntryText) => `the device of ${text('client') || 'a client'}`
const webhook = ({ text }: EntryText) => `the webhook to ${text('host') || 'an address'}`
const guardrail = ({ named }: EntryText) => named('guardrail', 'name')
const destination = ({ named }: EntryText) => named('telemetry destination', 'name')
const team = ({ named }: EntryText) => named('team', 'name')
const userOf = ({ nameOf, text }: EntryText) => nameOf(text('user')) ?? 'somebody'
const nothing = () => ''

function budgetOf(level: string, subject: string): string {
  if (level === 'tag') return `the tag ${subject}`
  return level === '' || level === 'account' ? 'the account' : `a ${level}`
}

const PHRASES: Readonly<Record<string, Phrase>> = {
  'key.created': ['created', 'create', key],
  'key.changed': ['changed', 'change', key],
  'key.rotated': ['rotated', 'rotate', key],
  'key.disabled': ['disabled', 'disable', key],
  'key.enabled': ['enabled', 'enable', key],
  'key.revoked': ['revoked', 'revoke', key],
  'member.joined': ['joined', 'join', (text) => `as ${role(text)}${by(text)}`],
  'member.role_changed': ['made', 'make', (text) => `${person(text)} ${role(text)}${was(text)}`],
  'member.removed': ['removed', 'remove', person],
  'member.left': ['left', 'leave', () => 'the account'],
  'invitation.created': ['invited', 'invite', (text) => `${text.text('email') || 'somebody'} as ${role(text)}`],
  'invitation.revoked': ['withdrew', 'withdraw', () => 'an invitation'],
  'session.started': ['signed in', 'sign in', nothing],
  'session.ended': ['signed out', 'sign out', nothing],
  'session.account_chosen': ['switched to', 'switch to', () => 'this account'],
  'sign_in_link.created': ['created', 'create', () => 'a sign-in link'],
  'device.approved': ['connected', 'connect', device],
  'device.denied': ['refused', 'refuse', device],
  'device.revoked': ['disconnected', 'disconnect', device],
  'device.reuse_detected': [
    'disconnected',
    'disconnect',
    (text) => `${device(text)}: one of its refresh tokens was used twice`,
  ],
  'account.created': ['created', 'create', () => 'the account'],
  'account.changed': ['changed', 'change', (text) => `the account${changesOf(text)}`],
  'credit.given': ['entered', 'enter', (text) => `${amount(text)} of credit${kindOf(text)}`],
  'provider.tested': ['tested', 'test', ({ named }) => named('provider', 'provider')],
  'team.created': ['created', 'create', team],
  'team.changed': ['changed', 'change', team],
  'team.archived': ['archived', 'archive', team],
  'team.member_added': ['added', 'add', (text) => `${userOf(text)} to a team as ${text.text('role') || 'a member'}`],
  'team.member_removed': ['removed', 'remove', (text) => `${userOf(text)} from a team`],
  'budgets.changed': ['set', 'set', ({ text }) => `the budgets of ${budgetOf(text('level'), text('subject'))}`],
  'budget.raised': ['raised', 'raise', (text) => `a budget by ${amount(text)}${because(text.text('reason'))}`],
  'budget.raise_ended': ['ended', 'end', () => 'the raise of a budget'],
  'guardrail.created': ['created', 'create', guardrail],
  'guardrail.changed': ['changed', 'change', guardrail],
  'guardrail.deleted': ['deleted', 'delete', guardrail],
  'telemetry_destination.created': ['added', 'add', destination],
  'telemetry_destination.changed': ['changed', 'change', destination],
  'telemetry_destination.deleted': ['deleted', 'delete', destination],
  'content_capture.changed': ['changed', 'change', () => 'content capture'],
  'content.viewed': ['read', 'read', () => 'the prompt and answer of a request'],
  'content.exported': ['exported', 'export', () => 'prompts and answers'],
  'content.deleted': ['deleted', 'delete', () => 'stored prompts and answers'],
  'agent.pull_request_opened': ['opened', 'open', (text) => `pull request ${text.text('url')}`],
  'agent.pull_request_found': ['found', 'find', (text) => `pull request ${text.text('url')}, which was already open`],
  'webhook.created': ['created', 'create', webhook],
  'webhook.changed': ['changed', 'change', webhook],
  'webhook.deleted': ['deleted', 'delete', webhook],
  'webhook.enabled': ['switched on', 'switch on', webhook],
  'webhook.disabled': ['switched off', 'switch off', webhook],
  'webhook.secret_rotated': ['rotated the secret of', 'rotate the secret of', webhook],
}

/** What is done, for filters: `key.created` is "Key created". */
export const KNOWN_ACTIONS: readonly string[] = [...Object.keys(PHRASES), 'sign_in.refused'].sort()

export function actionName(action: string): string {
  const words = action.replaceAll(/[._]/g, ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

/** "Ada revoked key “CI”", "ada@example.com tried to make bob@example.com owner, which was rejected". Plain text. */
export function sentenceOf(entry: AuditEntry, nameOf: NameOf): string {
  const { action, result, details } = entry
  const text = entryTextOf(entry, nameOf)
  const actor = actorName(entry, nameOf)
  if (action === 'sign_in.refused') return `${actor} could not sign in${because(text.text('reason'))}`
  const phrase = Object.hasOwn(PHRASES, action) ? PHRASES[action] : undefined
  if (phrase === undefined) return `${actor}: ${actionName(action).toLowerCase()}`
  const [past, base, rest] = phrase
  const what = rest(text)
  const object = what === '' ? '' : ` ${what}`
  if (result !== 'denied') return `${actor} ${past}${object}`
  const param = details['param']
  const why = typeof param === 'string' ? `, which exceeds their rights (${param})` : ', which was rejected'
  return `${actor} tried to ${base}${object}${why}`
}

export function actorName({ actor: { kind, id, name } }: Pick<AuditEntry, 'actor'>, nameOf: NameOf): string {
  const known = (id === null ? undefined : nameOf(id)) ?? name ?? undefined
  switch (kind) {
    case 'key':
      return known === undefined ? 'A key' : `Key “${known}”`
    case 'token':
      return known === undefined ? 'A device' : `A device of ${known}`
    case 'command_line':
      return known === undefined ? 'The command line' : `The command line (${known})`
    case 'system':
      return name === 'operator' ? 'The operator' : 'The gateway'
    default:
      return known ?? 'Somebody'
  }
}

function entryTextOf({ subject, details }: AuditEntry, nameOf: NameOf): EntryText {
  const text = (name: string): string => {
    const value = Object.hasOwn(details, name) ? details[name] : undefined
    return typeof value === 'string' ? value : ''
  }
  return {
    text,
    details,
    nameOf,
    named(noun, detail) {
      const name = text(detail) || (subject === null ? '' : (nameOf(subject) ?? ''))
      if (noun === '') return name
      return name === '' ? `a ${noun}` : `${noun} “${name}”`
    },
  }
}

function role({ text }: EntryText): string {
  const given = text('role')
  return given === '' ? 'a member' : nameOfRole(given).toLowerCase()
}

function was({ text }: EntryText): string {
  const before = text('from')
  return before === '' ? '' : ` (was ${nameOfRole(before).toLowerCase()})`
}

function by({ text }: EntryText): string {
  const way = text('by')
  return way === '' ? '' : ` by ${way}`
}

function changesOf({ details }: EntryText): string {
  const names = Object.keys(details).map((name) => name.replace(/_usd$/, '').replaceAll('_', ' '))
  return names.length === 0 ? '' : `: ${names.join(', ')}`
}

function amount({ details }: EntryText): string {
  const { usd } = details
  return typeof usd === 'number' || typeof usd === 'string' ? `$${usd}` : 'an amount'
}

function kindOf({ text }: EntryText): string {
  const kind = text('kind')
  return kind === '' ? '' : ` (${kind.replaceAll('_', ' ')})`
}

function because(reason: string): string {
  return reason === '' ? '' : `: ${reason.replaceAll('_', ' ')}`
}
