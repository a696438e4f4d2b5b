/**
 * Identifiers: a prefix and 22 base-62 characters that sort by time (8 of milliseconds, 14 random, 83 bits).
 */

const PREFIXES = {
  account: 'acc_',
  key: 'key_',
  completion: 'chatcmpl-',
  request: 'req_',
  invoice: 'inv_',
  instance: 'ins_',
  user: 'usr_',
  /** A device that was connected by the device flow, which owns its tokens. */
  device: 'dev_',
  session: 'ses_',
  invitation: 'ivt_',
  audit: 'aud_',
  webhook: 'whk_',
  event: 'evt_',
  delivery: 'dlv_',
  agent: 'agt_',
  run: 'run_',
  job: 'job_',
  /** An account's own credential at a provider. */
  providerCredential: 'pcr_',
  /** A receiver of an account's traces. */
  telemetryDestination: 'tds_',
  team: 'team_',
  budget: 'bud_',
  budgetRaise: 'bra_',
  group: 'grp_',
  guardrail: 'grd_',
  payment: 'pay_',
} as const
type Kind = keyof typeof PREFIXES
type Id<Name extends Kind> = string & { readonly __id: (typeof PREFIXES)[Name] }

export type AccountId = Id<'account'>
export type KeyId = Id<'key'>
export type CompletionId = Id<'completion'>
export type InvoiceId = Id<'invoice'>
export type InstanceId = Id<'instance'>
export type RequestId = Id<'request'>
export type LedgerId = string & { readonly __id: 'led_' }
export type UserId = Id<'user'>
export type DeviceId = Id<'device'>
export type SessionId = Id<'session'>
export type InvitationId = Id<'invitation'>
export type AuditId = Id<'audit'>
export type WebhookId = Id<'webhook'>
export type EventId = Id<'event'>
export type DeliveryId = Id<'delivery'>
export type AgentId = Id<'agent'>
export type RunId = Id<'run'>
export type ProviderCredentialId = Id<'providerCredential'>
export type TelemetryDestinationId = Id<'telemetryDestination'>
export type TeamId = Id<'team'>
export type BudgetId = Id<'budget'>
/** A group of an identity provider. */
export type GroupId = Id<'group'>
export type GuardrailId = Id<'guardrail'>
export type PaymentId = Id<'payment'>

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 8
const RANDOM_LENGTH = 14

export type IdSource = { readonly [Name in Kind]: () => Id<Name> }

/**
 * @param now Unix milliseconds.
 * @param randomBytes Fills and returns `size` unpredictable bytes.
 */
export function createIdSource(now: () => number, randomBytes: (size: number) => Uint8Array): IdSource {
  const body = createBody(now, base62Source(randomBytes))
  const makers = Object.entries(PREFIXES).map(([name, prefix]) => [name, () => prefix + body()])
  return Object.fromEntries(makers) as IdSource
}

/** The lowest completion ID of a millisecond: IDs from `completionIdFloor(a)` up to that of `b` were created in [a, b). */
export function completionIdFloor(ms: number): CompletionId {
  return `chatcmpl-${toBase62(Math.max(0, ms), TIME_LENGTH)}` as CompletionId
}

/** Returns the lowest ID of the audit log at a time. Times beyond the range of IDs are limited to it. */
export function auditIdFloor(ms: number): AuditId {
  return `aud_${toBase62(Math.min(Math.max(0, ms), 62 ** TIME_LENGTH - 1), TIME_LENGTH)}` as AuditId
}

const NUMBER_LENGTH = 7

/**
 * The ID of a row of an account's ledger, which is computed, not stored: its time, its number, and the end of the account's
 * ID. It sorts by number, since no row is older than the one before it.
 */
export function ledgerId(accountId: AccountId, number: number, createdAt: number): LedgerId {
  return `led_${numberedBody(accountId, number, createdAt)}` as LedgerId
}

/** The ID of a message of an agent, computed in the same way from the agent's ID. */
export function agentMessageId(agentId: AgentId, number: number, createdAt: number): string {
  return `msg_${numberedBody(agentId, number, createdAt)}`
}

function numberedBody(ownerId: AccountId | AgentId, number: number, createdAt: number): string {
  const owner = ownerId
    .slice(PREFIXES.account.length)
    .padStart(RANDOM_LENGTH, '0')
    .slice(NUMBER_LENGTH - RANDOM_LENGTH)
  return toBase62(createdAt, TIME_LENGTH) + toBase62(number, NUMBER_LENGTH) + owner
}

/**
 * Unbiased base-62 text: bytes of 248 and more are discarded. Draws randomness in blocks, and builds each text in a buffer:
 * concatenated characters would be a tree of strings, and every request creates and stores IDs.
 */
export function base62Source(randomBytes: (size: number) => Uint8Array): (length: number) => string {
  let block = new Uint8Array(0)
  let at = 0
  return (length) => {
    const text = Buffer.allocUnsafe(length)
    for (let filled = 0; filled < length; ) {
      if (at === block.length) {
        block = Uint8Array.from(randomBytes(1024))
        at = 0
      }
      const byte = block[at++] ?? 255
      if (byte < 248) text[filled++] = ALPHABET.charCodeAt(byte % 62)
    }
    return text.toString('latin1')
  }
}

/** Base 62 of a non-negative safe integer, padded on the left with `0`. */
export function toBase62(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text
  return text
}

/**
 * Returns the Unix milliseconds at which an ID was created, from the digits after its prefix. Undefined if it is not
 * an ID of that kind.
 */
export function timeOfId(id: string, prefix: (typeof PREFIXES)[Kind]): number | undefined {
  const body = id.slice(prefix.length)
  if (!id.startsWith(prefix) || !/^[0-9A-Za-z]{22}$/.test(body)) return undefined
  return [...body.slice(0, TIME_LENGTH)].reduce((ms, digit) => ms * 62 + ALPHABET.indexOf(digit), 0)
}

function createBody(now: () => number, random: (length: number) => string): () => string {
  let lastMs = -1
  let lastText = ''
  return () => {
    const ms = now()
    if (ms !== lastMs) {
      lastMs = ms
      lastText = toBase62(ms, TIME_LENGTH)
    }
    return lastText + random(RANDOM_LENGTH)
  }
}
