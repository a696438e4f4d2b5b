/** The guarded agents that deliveries leave by: one at a time, of the rule that holds now. */
import type { Agent } from 'undici'
import { createGuardedAgent, type GuardedAgentOptions } from '../../../http/guarded-agent.ts'

export interface WaysOutOptions extends Omit<GuardedAgentOptions, 'allowPrivateNetworks' | 'connections'> {
  /** As it is configured now. */
  readonly allowPrivateNetworks: () => boolean
}

export interface WaysOut {
  /** The agent of the rule that holds now. */
  current(): { readonly agent: Agent; readonly allowPrivateNetworks: boolean }
  close(): Promise<void>
}

/** When the rule changes, so does the agent: what is under way ends, and its connections with it. */
export function createWaysOut({ allowPrivateNetworks: allowed, ...options }: WaysOutOptions): WaysOut {
  let rule = allowed()
  let agent = createGuardedAgent({ ...options, allowPrivateNetworks: rule })
  return {
    current() {
      const allowPrivateNetworks = allowed()
      if (allowPrivateNetworks !== rule) {
        agent.close().catch(() => undefined)
        rule = allowPrivateNetworks
        agent = createGuardedAgent({ ...options, allowPrivateNetworks })
      }
      return { agent, allowPrivateNetworks }
    },
    close: () => agent.destroy(),
  }
}
