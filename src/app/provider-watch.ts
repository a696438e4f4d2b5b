/** Watches the calls to providers: alerts of refusals, the health over the last 24 hours, and how fast they answer. */
import type { OpenedDatabase } from '../db/database.ts'
import { type RecentCalls, recentCalls, startProviderHealthRecorder } from '../features/providers/recent-calls.ts'
import { startRefusalAlerts } from '../features/providers/refusal-alerts.ts'
import { startPerformanceRecorder } from '../features/usage/performance-recorder.ts'
import type { Log } from '../telemetry/log.ts'
import type { Money } from './money.ts'
import type { Runtime } from './runtime.ts'
import type { Webhooks } from './webhooks.ts'

export interface ProviderWatch {
  /** Reads the calls of all processes over the last 24 hours, by provider. */
  readonly recentCalls: () => Promise<ReadonlyMap<string, RecentCalls>>
  readonly close: () => Promise<void>
}

interface Parts {
  readonly runtime: Runtime
  readonly money: Pick<Money, 'wake'>
  readonly webhooks: Pick<Webhooks, 'recordEvent'>
}

export function createProviderWatch(
  { database: { db }, log }: { readonly database: OpenedDatabase; readonly log: Log },
  { runtime: { upstreams, now }, money: { wake }, webhooks: { recordEvent } }: Parts,
): ProviderWatch {
  const isScripted = (name: string): boolean => upstreams.find(name)?.provider.scripted === true
  const alerts = startRefusalAlerts({ db, now, recordEvent, isScripted, wake, log })
  const recorder = startProviderHealthRecorder({ db, now, isScripted, log })
  const performance = startPerformanceRecorder({ db, log })
  return {
    async recentCalls() {
      await recorder.write()
      return await recentCalls(db, now())
    },
    close: async () => void (await Promise.all([alerts.close(), recorder.close(), performance.close()])),
  }
}
