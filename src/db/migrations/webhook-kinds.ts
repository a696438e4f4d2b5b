import { oneOf } from './statement.ts'

/** What an endpoint receives: signed JSON, messages of a Slack-compatible webhook, or e-mail. */
export const webhookKinds: readonly string[] = [
  `alter table webhook add column kind text not null default 'webhook' check (${oneOf('kind', ['webhook', 'slack', 'email'])})`,
]
