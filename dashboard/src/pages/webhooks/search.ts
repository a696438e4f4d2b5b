/** What of the views is in their addresses. */
import { present, readChoice, readText } from '../../lib/address.ts'

export const TABS = ['deliveries', 'verification'] as const
export type Tab = (typeof TABS)[number]

const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const
export type StatusOfDelivery = (typeof DELIVERY_STATUSES)[number]

export const LANGUAGES = ['typescript', 'python', 'go', 'ruby'] as const
export type Language = (typeof LANGUAGES)[number]

/** Of all endpoints. */
export interface WebhooksSearch {
  /** Whether an endpoint is being added. */
  readonly create?: '1'
}

export function readWebhooksSearch(raw: Record<string, unknown>): WebhooksSearch {
  return present({ create: readChoice(raw, 'create', ['1']) })
}

/** Of one endpoint. */
export interface WebhookSearch {
  /** Only deliveries in this state. */
  readonly status?: StatusOfDelivery
  /** The delivery that is looked at. */
  readonly delivery?: string
  readonly tab?: Tab
  /** Of the verification code. */
  readonly language?: Language
}

export function readWebhookSearch(raw: Record<string, unknown>): WebhookSearch {
  return present({
    status: readChoice(raw, 'status', DELIVERY_STATUSES),
    delivery: readText(raw, 'delivery'),
    tab: readChoice(raw, 'tab', TABS),
    language: readChoice(raw, 'language', LANGUAGES),
  })
}
