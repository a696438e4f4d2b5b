/** Posts events to a receiver on the developer's machine, with the signature and the rules of the server's deliveries. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Agent } from 'undici'
import { mintWebhookSecret, signWebhook, webhookKey } from '../../domain/webhook-signature.ts'
import { DEADLINE_MS, post } from '../../features/webhooks/deliver/attempt.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { isOpenToOthers, readPrivateFile, withLock, writePrivateFile } from '../remote/auth/private-files.ts'
import { reasonOf } from '../remote/http.ts'
import type { Target } from '../remote/target.ts'
import type { FeedEvent } from './event-feed.ts'

export interface ForwarderOptions {
  readonly url: URL
  readonly secret: string
  /** Aborts deliveries in flight. */
  readonly signal: AbortSignal
  readonly userAgent: string
  readonly deadlineMs?: number
}

export interface Receipt {
  /** HTTP status; undefined: no response. */
  readonly status: number | undefined
  readonly durationMs: number
  /** As in the delivery log; undefined: success. */
  readonly error: string | undefined
  /** Start of the response body. */
  readonly text: string
}

export interface Forwarder {
  /** Never rejects. */
  send(event: FeedEvent): Promise<Receipt>
  close(): Promise<void>
}

export function createForwarder({ url, secret, signal, userAgent, ...rest }: ForwarderOptions): Forwarder {
  // a separate agent, since a proxy of the environment cannot reach this machine
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const options = { signal, deadlineMs: rest.deadlineMs ?? DEADLINE_MS }
  return {
    async send({ id, body: text }) {
      const startedAt = performance.now()
      const body = Buffer.from(text)
      const signature = signWebhook({ id, timestamp: Math.floor(Date.now() / 1_000), body, secrets: [secret] })
      const headers = { 'content-type': 'application/json', 'user-agent': userAgent, ...signature }
      const answer = await post(agent, { url, headers, body }, options).catch(unexpected)
      return { ...answer, text: answer.text ?? '', durationMs: Math.round(performance.now() - startedAt) }
    },
    close: () => agent.destroy(),
  }
}

function unexpected(error: unknown): { readonly status: undefined; readonly error: string; readonly text: undefined } {
  return { status: undefined, error: reasonOf(error), text: undefined }
}

/*
 * Secrets of `webhooks listen`. They belong to this machine, unknown to servers, and stay the same, so that a receiver under
 * development is configured once.
 */

/** Returns the secret of a profile or, for a key, of the server's address. Creates it on first use. */
export function localWebhookSecret(folder: string, { profile, url }: Target): Promise<string> {
  const path = join(folder, 'webhook-secrets.json')
  const owner = profile?.name ?? url
  return withLock(`${path}.lock`, async () => {
    const all = await readAll(path)
    const known = all.get(owner)
    if (known !== undefined) return known
    const secret = mintWebhookSecret(randomBytes)
    await writePrivateFile(path, `${JSON.stringify(Object.fromEntries(all.set(owner, secret)), null, 2)}\n`)
    return secret
  })
}

async function readAll(path: string): Promise<Map<string, string>> {
  const text = await readPrivateFile(path)
  if (text === undefined) return new Map()
  if (await isOpenToOthers(path)) {
    throw new Error(`Other users can read ${path}, which contains secrets. Delete it: the command creates new ones.`)
  }
  const value = parseJson(text)
  const entries = isRecord(value) ? Object.entries(value) : undefined
  const all = entries?.flatMap(([owner, secret]) => (isSecret(secret) ? [[owner, secret] as const] : []))
  if (all === undefined || all.length !== entries?.length) {
    throw new Error(`${path} is invalid. Delete it: the command creates new secrets.`)
  }
  return new Map(all)
}

function isSecret(value: unknown): value is string {
  return typeof value === 'string' && webhookKey(value) !== undefined
}
