/** One attempt of a delivery: the body as it is signed and sent, to an address that is allowed now. */
import type { AccountId, WebhookId } from '../../../domain/ids.ts'
import { renderWebhookBody, type WebhookEvent } from '../../../domain/webhook-event.ts'
import { signWebhook } from '../../../domain/webhook-signature.ts'
import { checkTarget } from '../../../http/guarded-agent.ts'
import { JobInterrupted } from '../../../jobs/job.ts'
import type { WebhookSecrets } from '../secrets.ts'
import type { Delivery } from './delivery.ts'
import { attemptFailure } from './failure.ts'
import { type Answer, DEADLINE_MS, post } from './post.ts'
import type { WaysOut } from './ways-out.ts'

/** What then has no answer is given back, and sent again by another process. */
const STOP_GRACE_MS = 8_000

export interface AttemptInput {
  readonly waysOut: WaysOut
  readonly secrets: Pick<WebhookSecrets, 'open'>
  /** Of the program. */
  readonly version: string
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly deadlineMs?: number | undefined
  /** A stop leaves an attempt so much time. */
  readonly stopGraceMs?: number | undefined
  /** What failed that is neither the receiver's doing nor the network's. */
  readonly onError: (error: unknown, of: { readonly accountId: AccountId; readonly webhookId: WebhookId }) => void
}

export interface Attempt extends Answer {
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly durationMs: number
}

/** Rejects only with the reason of the signal: the attempt is then another's, or to be made again. */
export async function makeAttempt(input: AttemptInput, delivery: Delivery, signal: AbortSignal): Promise<Attempt> {
  const { now, clock, deadlineMs = DEADLINE_MS, stopGraceMs = STOP_GRACE_MS } = input
  signal.throwIfAborted()
  const startedAt = now()
  const begunAt = clock()
  const patience = untilGivenUp(signal, stopGraceMs)
  const answer = await send(input, delivery, { startedAt, signal: patience.signal, deadlineMs })
    .catch((error: unknown) => failedAnswer(input, delivery, error))
    .finally(patience.end)
  return { ...answer, startedAt, durationMs: Math.max(0, Math.round(clock() - begunAt)) }
}

interface Sending {
  readonly startedAt: number
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

async function send(input: AttemptInput, delivery: Delivery, sending: Sending): Promise<Answer> {
  const { startedAt, signal, deadlineMs } = sending
  const { agent, allowPrivateNetworks } = input.waysOut.current()
  const url = checkTarget(delivery.webhook.url, { allowPrivateNetworks })
  const secrets = secretsOf(input, delivery, startedAt)
  if (secrets.length === 0) return { status: undefined, error: 'secret unreadable', text: undefined }
  const body = Buffer.from(bodyOf(delivery))
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Turnpike-Webhooks/${input.version}`,
    ...signWebhook({ id: delivery.event.id, timestamp: Math.floor(startedAt / 1_000), body, secrets }),
  }
  return post(agent, { url, headers, body }, { signal, deadlineMs })
}

function failedAnswer(input: AttemptInput, { payload }: Delivery, error: unknown): Answer {
  if (error instanceof JobInterrupted) throw error
  const text = attemptFailure(error)
  if (text === undefined) input.onError(error, payload)
  return { status: undefined, error: text ?? 'internal error', text: undefined }
}

/** The newest first. */
function secretsOf({ secrets }: AttemptInput, { payload, webhook }: Delivery, now: number): readonly string[] {
  const { secret, previous_secret: previous, previous_until: until } = webhook
  const isOverlapping = previous !== null && until !== null && until > now
  const sealed = isOverlapping ? [secret, previous] : [secret]
  return sealed.flatMap((each) => secrets.open(each, payload.webhookId) ?? [])
}

export function bodyOf({ event }: Pick<Delivery, 'event'>): string {
  const { id, type, data, created_at } = event
  const fields = { event_id: id, type, created_at: new Date(created_at).toISOString(), data: JSON.parse(data) }
  return renderWebhookBody(fields as WebhookEvent) // as it was recorded
}

/** Aborted at once when the job is another's, and a while after this process is told to stop. */
function untilGivenUp(signal: AbortSignal, stopGraceMs: number): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => controller.abort(signal.reason)
  const told = (): void => {
    const isLost = signal.reason instanceof JobInterrupted && signal.reason.reason === 'lost'
    if (isLost) giveUp()
    else timer ??= setTimeout(giveUp, stopGraceMs)
  }
  signal.addEventListener('abort', told)
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', told)
    },
  }
}
