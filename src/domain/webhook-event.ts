/**
 * Events of webhooks. A body is `{event_id, type, created_at, data}`; `docs/webhooks.md` shows one of each. The package
 * exports these shapes to receivers: within `/v1`, fields and types are only added.
 */
import {
  type AgentData,
  type AgentEventData,
  type AgentEventType,
  type BudgetAlertData,
  type KeyExpiringData,
  type LedgerAuditData,
  WEBHOOK_EVENT_TYPES,
  type WebhookEvent,
  type WebhookEventType,
  type WebhookTestData,
} from '../../packages/webhooks/src/event.ts'

export type * from '../../packages/webhooks/src/event.ts'
export { REFUSAL_REASONS, WEBHOOK_EVENT_TYPES } from '../../packages/webhooks/src/event.ts'

import { isoTime } from '../lib/time.ts'
import { branchOf } from './agent.ts'

/** The event types for people, which an endpoint receives by default. */
export const ALERT_EVENTS = [
  'usage.alert',
  'credit.exhausted',
  'budget.alert',
  'ledger.audit',
  'provider.refused',
  'key.expiring',
] as const satisfies readonly WebhookEventType[]

export function isWebhookEventType(text: string): text is WebhookEventType {
  return (WEBHOOK_EVENT_TYPES as readonly string[]).includes(text)
}

/** Renders the body that is signed and sent, with a fixed order of fields. */
export function renderWebhookBody({ event_id, type, created_at, data }: WebhookEvent): string {
  return JSON.stringify({ event_id, type, created_at, data })
}

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS

interface ExampleFacts {
  readonly eventId: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly accountId: string
  readonly webhookId: string
}

export function exampleWebhookEvent(type: WebhookEventType, facts: ExampleFacts): WebhookEvent {
  const head = { event_id: facts.eventId, created_at: isoTime(facts.createdAt) }
  switch (type) {
    case 'usage.alert':
      return { ...head, type, data: { ...spending(facts, 4), basis: 'credit', threshold_percent: 80 } }
    case 'credit.exhausted':
      return { ...head, type, data: { ...spending(facts, 5), credit_remaining_usd: 0 } }
    case 'budget.alert':
      return { ...head, type, data: budgetAlert(facts) }
    case 'ledger.audit':
      return { ...head, type, data: ledgerAudit(facts) }
    case 'provider.refused':
      return { ...head, type, data: { provider: 'local', model: 'qwen3-coder', reason: 'credentials', status: 401 } }
    case 'key.expiring':
      return { ...head, type, data: keyExpiring(facts) }
    case 'webhook.test':
      return { ...head, type, data: webhookTestData(facts.webhookId) }
    default:
      return { ...head, type, data: agent(type, facts.createdAt) }
  }
}

/** Returns the data of `webhook.test` events. */
export function webhookTestData(webhookId: string): WebhookTestData {
  return { webhook_id: webhookId, message: 'This endpoint receives webhooks.' }
}

function budgetAlert({ accountId, createdAt }: ExampleFacts): BudgetAlertData {
  const { period_start, period_end, ...spent } = spending({ accountId, createdAt }, 4)
  return {
    account_id: spent.account_id,
    budget_id: 'bud_00000000exampleexample',
    level: 'tag',
    subject: 'customer=northwind',
    window: 'month',
    action: 'block',
    window_start: period_start,
    resets_at: period_end,
    spent_usd: spent.spent_usd,
    limit_usd: spent.limit_usd,
    threshold_percent: 80,
    forecast_exhausted_at: isoTime(createdAt + DAY_MS),
  }
}

function keyExpiring({ accountId, createdAt }: ExampleFacts): KeyExpiringData {
  return {
    account_id: accountId,
    key_id: 'key_00000000exampleexample',
    name: 'production',
    last4: 'TRbJ',
    expires_at: isoTime(createdAt + 7 * DAY_MS),
    last_used_at: isoTime(createdAt - MINUTE_MS),
  }
}

function ledgerAudit({ accountId, createdAt }: ExampleFacts): LedgerAuditData {
  const subject = 'chatcmpl-00000000exampleexample'
  return {
    audit_id: '00000000-0000-4000-8000-000000000000',
    started_at: isoTime(createdAt - MINUTE_MS),
    ended_at: isoTime(createdAt),
    accounts: 12,
    rows: 345_678,
    findings_count: 1,
    counts: { cost: 1 },
    findings: [{ account_id: accountId, kind: 'cost', subject, expected: '124101', actual: '0' }],
  }
}

function spending({ accountId, createdAt }: Pick<ExampleFacts, 'accountId' | 'createdAt'>, spentUsd: number) {
  const [year, month] = [new Date(createdAt).getUTCFullYear(), new Date(createdAt).getUTCMonth()]
  return {
    account_id: accountId,
    period_start: isoTime(Date.UTC(year, month)),
    period_end: isoTime(Date.UTC(year, month + 1)),
    spent_usd: spentUsd,
    limit_usd: 5,
  }
}

const ENDINGS: Readonly<Record<AgentEventType, Partial<AgentData> & Pick<AgentData, 'status'>>> = {
  'agent.started': { status: 'running' },
  'agent.completed': { status: 'completed', summary: 'Corrected three typos in README.md.' },
  'agent.failed': {
    status: 'failed',
    error: { code: 'max_cost', message: 'The agent stopped at its limit of 0.05 USD.' },
  },
  'agent.cancelled': { status: 'cancelled' },
}

const EXAMPLE_AGENT = 'agt_00000000exampleexample'

function agent(type: AgentEventType, at: number): AgentEventData {
  const sequence = type === 'agent.started' ? 3 : 57
  return { agent: agentData(type, at), run_id: 'run_00000000exampleexample', sequence }
}

function agentData(type: AgentEventType, at: number): AgentData {
  const { status, ...ending } = ENDINGS[type]
  const hasEnded = type !== 'agent.started'
  const startedAt = hasEnded ? at - 3 * MINUTE_MS : at
  return {
    id: EXAMPLE_AGENT,
    object: 'agent',
    name: 'Fix typos',
    status,
    repository: 'example/website',
    model: 'turnpike-simulator',
    base_branch: null,
    branch: branchOf(EXAMPLE_AGENT),
    summary: null,
    error: null,
    usage: hasEnded ? { tokens: 18_234, cost_usd: 0.0412 } : { tokens: 0, cost_usd: 0 },
    runs: 1,
    created_at: isoTime(startedAt - 2000),
    started_at: isoTime(startedAt),
    ended_at: hasEnded ? isoTime(at) : null,
    ...ending,
  }
}
