/** `turnpike webhooks …`. Names and flags are a contract with scripts. */
import { type Command, Option } from 'commander'
import { parseName, parseWholeNumber } from '../option-values.ts'
import type { CreateOptions, DeliveriesOptions, WebhooksOptions } from '../webhooks.ts'
import type { ListenOptions } from '../webhooks-listen.ts'
import type { ResendOptions } from '../webhooks-resend.ts'
import {
  parseDeliveryId,
  parseEventType,
  parseEventTypes,
  parsePastTime,
  parseReceiver,
  parseWebhookId,
} from '../webhooks-values.ts'
import { withTarget } from './target-options.ts'

/** @param version Told to receivers. */
export function addWebhooks(program: Command, version: string): void {
  const webhooks = program.command('webhooks').description("webhooks: receive, send and look at an account's events")
  addListen(webhooks, version)
  addSending(webhooks)
  addEndpoints(webhooks)
}

function addListen(webhooks: Command, version: string): void {
  withTarget(webhooks.command('listen'))
    .description('receive the webhooks of an account on this machine, while developing')
    .option('--forward <url>', 'post them, signed, to this receiver, such as localhost:3000/webhooks', parseReceiver)
    .option('--events <list>', 'types of events, with commas between them (default: all)', parseEventTypes)
    .option('--secret <secret>', 'sign with this one (default: one of this machine, always the same)')
    .option('--print-json', 'print the bodies as JSON, one a line')
    .option('--json', 'the same')
    .action(async (options: ListenOptions) => (await import('../webhooks-listen.ts')).webhooksListen(options, version))
}

function addSending(webhooks: Command): void {
  withTarget(webhooks.command('trigger'))
    .description('make an event with made-up contents, which is sent like any other')
    .argument('<event>', 'type of the event', parseEventType)
    .option('--json', 'print JSON')
    .action(async (event: string, options: WebhooksOptions) =>
      (await import('../webhooks.ts')).webhooksTrigger(event, options),
    )
  withTarget(webhooks.command('resend'))
    .description('send a delivery again, or all that failed since a time')
    .argument('[delivery]', 'ID of the delivery', parseDeliveryId)
    .option('--webhook <id>', 'ID of the endpoint (default: found by the delivery)', parseWebhookId)
    .option('--failed-since <time>', 'all of the endpoint that failed since then, or in the last 2h', parsePastTime)
    .option('--json', 'print JSON')
    .action(async (delivery: string | undefined, options: ResendOptions) =>
      (await import('../webhooks-resend.ts')).webhooksResend(delivery, options),
    )
}

function addEndpoints(webhooks: Command): void {
  withTarget(webhooks.command('list'))
    .description('list the endpoints of an account')
    .option('--json', 'print JSON')
    .action(async (options: WebhooksOptions) => (await import('../webhooks.ts')).webhooksList(options))
  withTarget(webhooks.command('create'))
    .description('make an endpoint and print its secret, once')
    .argument('<url>', 'address that events are posted to', parseName)
    .option('--events <list>', 'types of events, with commas between them (default: all)', parseEventTypes)
    .option('--description <text>', 'what it is for')
    .option('--json', 'print JSON')
    .action(async (url: string, options: CreateOptions) =>
      (await import('../webhooks.ts')).webhooksCreate(url, options),
    )
  withTarget(webhooks.command('delete'))
    .description('delete an endpoint, with its deliveries')
    .argument('<id>', 'ID of the endpoint', parseWebhookId)
    .option('--json', 'print JSON')
    .action(async (id: string, options: WebhooksOptions) =>
      (await import('../webhooks.ts')).webhooksDelete(id, options),
    )
  withTarget(webhooks.command('deliveries'))
    .description('list what was sent to an endpoint, newest first')
    .argument('<id>', 'ID of the endpoint', parseWebhookId)
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'delivered', 'failed']))
    .option('--limit <count>', 'how many, 1 to 100 (default: 20)', parseWholeNumber)
    .option('--cursor <cursor>', 'go on where the page before ended')
    .option('--json', 'print JSON')
    .action(async (id: string, options: DeliveriesOptions) =>
      (await import('../webhooks.ts')).webhooksDeliveries(id, options),
    )
}
