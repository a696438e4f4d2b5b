/**
 * Calls the HTTP hook of a guardrail: signs the question as webhooks are signed, within one deadline, to an address that is
 * allowed now. Answers are read up to a limit; redirects are not followed.
 */
import { createHmac } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { CallHook, HookQuestion, HookVerdict } from '../../domain/guardrails/rule.ts'
import type { AccountId } from '../../domain/ids.ts'
import { signWebhook } from '../../domain/webhook-signature.ts'
import { isRecord } from '../../lib/json.ts'
import { checkTarget, readBounded } from '../../net/guarded-agent.ts'

/** Bytes read of a hook's answer, beyond what was sent. */
const ANSWER_BYTES = 64 * 1024

interface HookInput {
  /** Connects to allowed addresses only. */
  readonly agent: () => Dispatcher
  readonly allowPrivateNetworks: () => boolean
  /** Signing secrets of accounts are derived from it. */
  readonly key: Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

/** The secret that an account's hooks verify signatures with. */
export function hookSecret(key: Uint8Array, accountId: AccountId): string {
  return `whsec_${createHmac('sha256', key).update(accountId).digest('base64')}`
}

export function createHookCaller(input: HookInput): (accountId: AccountId) => CallHook {
  const { log } = input
  return (accountId) => async (named, question) => {
    const { guardrail, rule } = named
    try {
      const body = JSON.stringify({ guardrail, ...question })
      return verdictOf(await post(input, { accountId, url: rule.url, body, timeoutMs: rule.timeout_ms }), question)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.warn(
        { account: accountId, guardrail, stage: question.stage, reason },
        'the hook of a guardrail did not answer',
      )
      return undefined
    }
  }
}

interface Posting {
  readonly accountId: AccountId
  readonly url: string
  readonly body: string
  readonly timeoutMs: number
}

async function post(input: HookInput, { accountId, url, body, timeoutMs }: Posting): Promise<unknown> {
  const { agent, allowPrivateNetworks, key, now } = input
  const timestamp = Math.floor(now() / 1000)
  const secrets = [hookSecret(key, accountId)]
  const { request } = await import('undici')
  const response = await request(checkTarget(url, { allowPrivateNetworks: allowPrivateNetworks() }), {
    method: 'POST',
    dispatcher: agent(),
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'content-type': 'application/json',
      ...signWebhook({ id: `grd_${timestamp}`, timestamp, body: Buffer.from(body), secrets }),
    },
    body,
  })
  const text = await readBounded(response.body, body.length + ANSWER_BYTES)
  if (response.statusCode < 200 || response.statusCode > 299) throw new Error(`status ${response.statusCode}`)
  return JSON.parse(text)
}

const ACTIONS: ReadonlySet<unknown> = new Set(['allow', 'mask', 'block'])
/** Characters of a reason that clients see. */
const REASON_LENGTH = 500

/** Throws for what is not a verdict: a hook that answers nonsense has not answered. */
function verdictOf(answer: unknown, { texts }: HookQuestion): HookVerdict {
  if (!isRecord(answer) || !ACTIONS.has(answer['action'])) throw new Error('its answer has no known `action`')
  const action = answer['action'] as HookVerdict['action']
  const { reason, texts: masked } = answer
  if (action === 'mask' && !areTexts(masked, texts.length)) {
    throw new Error(`its answer must have ${texts.length} \`texts\``)
  }
  return {
    action,
    ...(typeof reason === 'string' && { reason: reason.slice(0, REASON_LENGTH) }),
    ...(action === 'mask' && { texts: masked as readonly string[] }),
  }
}

function areTexts(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length === length && value.every((text) => typeof text === 'string')
}
