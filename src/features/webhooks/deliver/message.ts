/**
 * The message that people read of an event: one template for e-mail and Slack, and its delivery over SMTP. Values of
 * accounts are plain text in it.
 */
import type { BudgetAlertData, WebhookEvent } from '../../../domain/webhook-event.ts'
import type { SmtpSettings } from '../recipients.ts'
import type { Answer } from './delivery.ts'

interface Message {
  /** One line. */
  readonly subject: string
  /** Of the body; what is absent is left out. */
  readonly lines: readonly string[]
}

const FORMAT = { style: 'currency', currency: 'USD', maximumFractionDigits: 9 } as const
/** Of a text that an account or a provider chose. */
const LONGEST_TEXT = 500

/** @param dashboardUrl Where the account looks further. */
export function messageOf(event: WebhookEvent, dashboardUrl: string): Message {
  const { subject, lines } = textOf(event)
  const facts = lines.filter((line) => line !== undefined)
  return {
    subject: `Turnpike: ${oneLine(subject)}`,
    lines: [...facts.map(oneLine), `Dashboard: ${dashboardUrl}`, `Event: ${event.event_id}, ${event.created_at}`],
  }
}

/** The payload of incoming webhooks of Slack, and of Mattermost and others that accept it. */
export function slackPayload({ subject, lines }: Message): string {
  return JSON.stringify({ text: [`*${escapeSlack(subject)}*`, ...lines.map(escapeSlack)].join('\n') })
}

/** Otherwise `<!channel>` and links could be written into a message. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_TEXT)
}

interface Text {
  readonly subject: string
  readonly lines: readonly (string | undefined)[]
}

function textOf(event: WebhookEvent): Text {
  switch (event.type) {
    case 'budget.alert':
      return budgetText(event.data)
    case 'usage.alert': {
      const { threshold_percent: percent, basis, spent_usd, limit_usd, period_end } = event.data
      const of = basis === 'budget' ? 'monthly budget' : 'credit'
      return {
        subject: `${percent} % of the ${of} is spent`,
        lines: [spentLine(spent_usd, limit_usd), `The period ends on ${day(period_end)}.`],
      }
    }
    case 'credit.exhausted': {
      const { spent_usd, limit_usd, credit_remaining_usd: left } = event.data
      const lines = [
        spentLine(spent_usd, limit_usd),
        `Remaining: ${formatUsd(left)}.`,
        'Requests are refused with 402.',
      ]
      return { subject: 'the credit is exhausted', lines }
    }
    case 'ledger.audit': {
      const { findings_count: count, accounts, rows } = event.data
      const lines = [`${rows} rows of ${accounts} accounts were audited.`, 'Run: turnpike ledger audit']
      return { subject: `the audit of the ledger has ${count} findings`, lines }
    }
    case 'provider.refused': {
      const { provider, model, reason, status } = event.data
      const lines = [`Model: ${model}`, `Reason: ${reason}${status === null ? '' : `, HTTP status ${status}`}`]
      return { subject: `the provider ${provider} refuses requests`, lines }
    }
    case 'key.expiring': {
      const { name, last4, expires_at: at, last_used_at: usedAt } = event.data
      const lines = [
        `Key: …${last4}`,
        usedAt === null ? 'It was never used.' : `It was last used on ${day(usedAt)}.`,
        'Rotate it and set another expiry, or create a new key.',
      ]
      return { subject: `the API key ${name} expires on ${day(at)}`, lines }
    }
    case 'webhook.test':
      return { subject: 'test message', lines: ['This endpoint receives alerts.'] }
    default: {
      const { name, status, repository, summary, error } = event.data.agent
      const lines = [`Repository: ${repository}`, summary ?? undefined, error?.message]
      return { subject: `agent ${name}: ${status}`, lines }
    }
  }
}

const REFUSES = {
  block: 'Requests beyond the limit are refused with 402.',
  warn: 'Requests beyond the limit are admitted.',
} as const

function budgetText(data: BudgetAlertData): Text {
  const { level, subject, window, threshold_percent: percent, resets_at, forecast_exhausted_at: forecast } = data
  const of = level === 'account' ? 'the account' : `${level} ${subject}`
  const isSpent = data.spent_usd >= data.limit_usd
  return {
    subject: `${percent} % of the ${WINDOWS[window]} budget of ${of} is spent`,
    lines: [
      spentLine(data.spent_usd, data.limit_usd),
      isSpent || forecast === null ? undefined : `At this pace the budget is spent on ${day(forecast)}.`,
      resets_at === null ? 'The budget does not reset.' : `It resets on ${day(resets_at)}.`,
      REFUSES[data.action],
      `Budget: ${data.budget_id}`,
    ],
  }
}

const WINDOWS = { day: 'daily', week: 'weekly', month: 'monthly', quarter: 'quarterly', total: 'total' } as const

function spentLine(spentUsd: number, limitUsd: number): string {
  return `Spent: ${formatUsd(spentUsd)} of ${formatUsd(limitUsd)}.`
}

/** @param iso ISO 8601 in UTC. */
function day(iso: string): string {
  return `${iso.slice(0, 10)} at ${iso.slice(11, 16)} UTC`
}

/** Makes the format with each message: the tables that it loads would cost every start 5 MiB. */
function formatUsd(usd: number): string {
  return new Intl.NumberFormat('en-US', FORMAT).format(usd)
}

/* Sends a message over SMTP. The library is loaded with the first one. */

interface Mail {
  readonly smtp: SmtpSettings
  readonly to: string
  /** The same at every attempt: mail servers and readers recognize a repetition. */
  readonly messageId: string
  readonly message: Message
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

/** Rejects with the signal's reason; what the mail server or the network causes is an answer. */
export async function sendMail({ smtp, to, messageId, message, signal, deadlineMs }: Mail): Promise<Answer> {
  const { createTransport } = await import('nodemailer')
  const { host, port, security, user, password, from } = smtp
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    connectionTimeout: deadlineMs,
    greetingTimeout: deadlineMs,
    socketTimeout: deadlineMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
  })
  const stopped = stopOf(signal, deadlineMs)
  try {
    const sent = transport.sendMail({
      from,
      to: { name: '', address: to },
      messageId: `<${messageId}@${from.slice(from.lastIndexOf('@') + 1).replace(/[^\w.-]/g, '')}>`,
      subject: message.subject,
      text: `${message.lines.join('\n')}\n`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const { response } = await Promise.race([sent, stopped.promise])
    return { status: Number(response.slice(0, 3)), error: undefined, text: undefined }
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error
    return failureOf(error)
  } finally {
    stopped.end()
    transport.close()
  }
}

/** @returns A promise that rejects when the signal aborts or the time is over. */
function stopOf(signal: AbortSignal, deadlineMs: number): { readonly promise: Promise<never>; end(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined) // after the race is over
  const stop = (): void => reject(signal.reason)
  const timer = setTimeout(() => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), deadlineMs)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  return {
    promise,
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    },
  }
}

/** By error code of the library. The server's own words may name what only the operator should know. */
const TEXTS: Readonly<Record<string, string>> = {
  EAUTH: 'mail server: authentication failed',
  ETLS: 'mail server: TLS failed',
  ETIMEDOUT: 'timeout',
  EDNS: 'mail server: name not found',
}

function failureOf(error: unknown): Answer {
  const { code = '', responseCode } = error as { readonly code?: string; readonly responseCode?: number } // of the library
  const known = TEXTS[code]
  const text = known ?? (responseCode === undefined ? 'mail server: connection failed' : `status ${responseCode}`)
  return { status: responseCode, error: text, text: undefined }
}
