/** A thread with a provider, and with clients that assault a gateway when they are told to. */
import { parentPort } from 'node:worker_threads'
import { ordinary } from '../providers/answers.ts'
import { startFakeProvider } from '../providers/fake-provider.ts'
import { type Assault, assault, type HostileTarget } from './hostile-bodies.ts'

export interface AssaultOrder {
  readonly target: HostileTarget
  readonly assault: Assault
}

const provider = await startFakeProvider(ordinary)
parentPort?.postMessage({ providerUrl: provider.url })
parentPort?.on('message', async (order: AssaultOrder) => {
  const statuses = await assault(order.target, order.assault)
  parentPort?.postMessage({ statuses })
})
