/**
 * Identifiers: a prefix and 22 base-62 characters that sort by time (8 of milliseconds, 14 random, 83 bits).
 * Ids are born here and nowhere else.
 */

export type AccountId = string & { readonly __id: 'acc_' }
export type KeyId = string & { readonly __id: 'key_' }
export type CompletionId = string & { readonly __id: 'chatcmpl-' }
export type InvoiceId = string & { readonly __id: 'inv_' }
export type InstanceId = string & { readonly __id: 'ins_' }
export type RequestId = string & { readonly __id: 'req_' }
export type LedgerId = string & { readonly __id: 'led_' }
export type UserId = string & { readonly __id: 'usr_' }
/** A device that was connected by the device flow: what its tokens belong to. */
export type DeviceId = string & { readonly __id: 'dev_' }
export type SessionId = string & { readonly __id: 'ses_' }
export type InvitationId = string & { readonly __id: 'ivt_' }
export type AuditId = string & { readonly __id: 'aud_' }
export type WebhookId = string & { readonly __id: 'whk_' }
export type EventId = string & { readonly __id: 'evt_' }
export type DeliveryId = string & { readonly __id: 'dlv_' }
export type AgentId = string & { readonly __id: 'agt_' }
export type RunId = string & { readonly __id: 'run_' }

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 8
const RANDOM_LENGTH = 14

export interface IdSource {
  account(): AccountId
  key(): KeyId
  completion(): CompletionId
  request(): RequestId
  invoice(): InvoiceId
  instance(): InstanceId
  user(): UserId
  device(): DeviceId
  session(): SessionId
  invitation(): InvitationId
  audit(): AuditId
  webhook(): WebhookId
  event(): EventId
  delivery(): DeliveryId
  agent(): AgentId
  run(): RunId
  /** Of background work. */
  job(): string
}

/**
 * @param now Unix milliseconds.
 * @param randomBytes Fills and returns `size` unpredictable bytes.
 */
export function createIdSource(now: () => number, randomBytes: (size: number) => Uint8Array): IdSource {
  const body = createBody(now, base62Source(randomBytes))
  return {
    account: () => `acc_${body()}` as AccountId,
    key: () => `key_${body()}` as KeyId,
    completion: () => `chatcmpl-${body()}` as CompletionId,
    request: () => `req_${body()}` as RequestId,
    invoice: () => `inv_${body()}` as InvoiceId,
    instance: () => `ins_${body()}` as InstanceId,
    user: () => `usr_${body()}` as UserId,
    device: () => `dev_${body()}` as DeviceId,
    session: () => `ses_${body()}` as SessionId,
    invitation: () => `ivt_${body()}` as InvitationId,
    audit: () => `aud_${body()}` as AuditId,
    webhook: () => `whk_${body()}` as WebhookId,
    event: () => `evt_${body()}` as EventId,
    delivery: () => `dlv_${body()}` as DeliveryId,
    agent: () => `agt_${body()}` as AgentId,
    run: () => `run_${body()}` as RunId,
    job: () => `job_${body()}`,
  }
}

/** The least completion id of a millisecond: ids from `completionIdFloor(a)` up to that of `b` were born in [a, b). */
export function completionIdFloor(ms: number): CompletionId {
  return `chatcmpl-${toBase62(Math.max(0, ms), TIME_LENGTH)}` as CompletionId
}

/** The same of the audit log; of a time that no id can have, the last one that one can. */
export function auditIdFloor(ms: number): AuditId {
  return `aud_${toBase62(Math.min(Math.max(0, ms), 62 ** TIME_LENGTH - 1), TIME_LENGTH)}` as AuditId
}

const NUMBER_LENGTH = 7

/**
 * The id of a row of an account's ledger, which is computed, not kept: its time, its number, and the end of the account's
 * id. It sorts by number, since a later row is never of an earlier time.
 */
export function ledgerId(accountId: AccountId, number: number, createdAt: number): LedgerId {
  const account = accountId
    .slice('acc_'.length)
    .padStart(RANDOM_LENGTH, '0')
    .slice(NUMBER_LENGTH - RANDOM_LENGTH)
  return `led_${toBase62(createdAt, TIME_LENGTH)}${toBase62(number, NUMBER_LENGTH)}${account}` as LedgerId
}

/** The id of a message of an agent, computed in the same way: its time, its number, and the end of the agent's id. */
export function agentMessageId(agentId: AgentId, number: number, createdAt: number): string {
  const agent = agentId
    .slice('agt_'.length)
    .padStart(RANDOM_LENGTH, '0')
    .slice(NUMBER_LENGTH - RANDOM_LENGTH)
  return `msg_${toBase62(createdAt, TIME_LENGTH)}${toBase62(number, NUMBER_LENGTH)}${agent}`
}

/** The number of the row that an id of this account's ledger names; undefined for any other text. */
export function ledgerNumber(accountId: AccountId, id: string): number | undefined {
  const [, time, number] = /^led_([0-9A-Za-z]{8})([0-9A-Za-z]{7})/.exec(id) ?? []
  if (time === undefined || number === undefined) return undefined
  const value = fromBase62(number)
  return ledgerId(accountId, value, fromBase62(time)) === id ? value : undefined
}

/**
 * Unbiased base-62 text: bytes of 248 and more are thrown away. Draws randomness in blocks, and makes each text in one
 * piece: one that is put together from characters is a tree of strings, and ids are made and kept with every request.
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

function fromBase62(text: string): number {
  let value = 0
  for (const character of text) value = value * 62 + ALPHABET.indexOf(character)
  return value
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
