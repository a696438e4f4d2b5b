/** `turnpike webhooks listen`: an account's events on this machine, shown, or posted to a receiver under development. */
import { webhookKey } from '../domain/webhook-signature.ts'
import { createClient } from './remote/client.ts'
import { configFolder } from './remote/config-folder.ts'
import { followEvents } from './remote/event-feed.ts'
import { createForwarder, type Forwarder } from './remote/forwarding.ts'
import { chooseTarget, type Target, type TargetOptions } from './remote/target.ts'
import { localWebhookSecret } from './remote/webhook-secrets.ts'
import { createDisplay, type Display } from './webhooks-display.ts'
import { wrongUsage } from './wrong-usage.ts'

export interface ListenOptions extends TargetOptions {
  readonly forward?: URL
  /** Types of events; without it, all. */
  readonly events?: readonly string[]
  readonly secret?: string
  readonly printJson?: boolean
  readonly json?: boolean
}

/** As many as a server sends to one endpoint at a time. */
const AT_ONCE = 10

/** @param version Receivers are told it, as a server tells its own. */
export async function webhooksListen(options: ListenOptions, version: string): Promise<void> {
  checkSecret(options)
  const target = await chooseTarget(options)
  const { forward, printJson, json } = options
  const display = createDisplay({ isJson: (printJson ?? json) === true, isForwarding: forward !== undefined })
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const { signal } = stopping
    const secret = forward === undefined ? undefined : (options.secret ?? (await ownSecret(target)))
    if (secret !== undefined) display.secret(secret)
    const forwarder =
      forward === undefined || secret === undefined
        ? undefined
        : createForwarder({ url: forward, secret, signal, userAgent: `Turnpike-Webhooks/${version}` })
    await listen({ options, target, display, forwarder, signal })
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

function checkSecret({ secret, forward }: ListenOptions): void {
  if (secret === undefined) return
  // it is not in the message: what is nearly a secret may be one with a slip
  if (webhookKey(secret) === undefined)
    throw wrongUsage('--secret: allowed is whsec_ and the base64 of 24 to 64 bytes.')
  if (forward === undefined)
    throw wrongUsage('--secret: it signs what --forward sends; without that, nothing is signed.')
}

function ownSecret(target: Target): Promise<string> {
  return localWebhookSecret(configFolder(), target)
}

interface Listening {
  readonly options: ListenOptions
  readonly target: Target
  readonly display: Display
  /** Undefined: events are only shown. */
  readonly forwarder: Forwarder | undefined
  readonly signal: AbortSignal
}

async function listen({ options, target, display, forwarder, signal }: Listening): Promise<void> {
  const { events: types, forward } = options
  const underWay = createSlots(AT_ONCE)
  let isConnected = false
  try {
    await followEvents({
      client: createClient(target),
      signal,
      onConnected(lostMs) {
        isConnected = true
        display.note(lostMs === undefined ? opening(target, forward) : regained(lostMs))
      },
      onLost: (reason) => display.note(`Connection lost: ${reason}. Trying again.`),
      async onEvent(event) {
        if (types?.includes(event.type) === false) return
        display.event(event)
        if (forwarder === undefined) return
        await underWay.use(async () => {
          const receipt = await forwarder.send(event)
          if (!signal.aborted) display.receipt(event, receipt)
        })
      },
    })
  } finally {
    await underWay.end()
    await forwarder?.close()
    if (isConnected) display.summary()
  }
}

function opening({ url }: Target, forward: URL | undefined): string {
  if (forward === undefined) return `Listening to ${url}; --forward URL posts the events to a receiver. Ctrl-C ends.`
  return `Listening to ${url}; events go to ${forward.href}. Ctrl-C ends.`
}

function regained(lostMs: number): string {
  return `Connected again after ${(lostMs / 1_000).toFixed(1)} s; what happened meanwhile comes now.`
}

interface Slots {
  /** Resolves when the work has begun; it may take its time. The work never rejects. */
  use(work: () => Promise<void>): Promise<void>
  /** Resolves when all of it is done. */
  end(): Promise<void>
}

function createSlots(most: number): Slots {
  const taken = new Set<Promise<void>>()
  return {
    async use(work) {
      while (taken.size >= most) await Promise.race(taken)
      const one: Promise<void> = work().finally(() => taken.delete(one))
      taken.add(one)
    },
    end: async () => void (await Promise.all(taken)),
  }
}
