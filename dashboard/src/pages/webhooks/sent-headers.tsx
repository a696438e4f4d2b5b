import { CodeBlock } from '../../ui/code.tsx'
import type { Delivery } from './queries.ts'

/** Those of the newest attempt; the signatures, which are made for each, are not kept. */
export function SentHeaders({ delivery }: { readonly delivery: Delivery }) {
  const last = delivery.attempts.at(-1)
  if (last === undefined) return null
  const lines = [
    'content-type: application/json',
    `webhook-id: ${delivery.event_id}`,
    `webhook-timestamp: ${Math.floor(Date.parse(last.at) / 1000)}`,
    'webhook-signature: v1,… (made for each attempt, not kept)',
    'turnpike-signature: … (not kept)',
  ]
  return (
    <CodeBlock code={lines.join('\n')} language="Headers of the last attempt" label="Headers of the last attempt" />
  )
}
