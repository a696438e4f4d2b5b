/**
 * A process of its own that takes places at Redis and waits to be killed.
 * Arguments: the server's address, the account, how many places.
 */
import { createSharedLimiter } from '../../../src/features/limits/shared-limiter.ts'
import { comesTrue, limitedCaller, planLimits } from '../limits.ts'

const [url = '', account = '', count = '1'] = process.argv.slice(2)
const limiter = createSharedLimiter({
  url,
  limitsOf: () => planLimits({}),
  clock: () => performance.now(),
  nodes: () => 1,
  waitMs: 60_000, // it counts at Redis, however long this machine stands still
  log: { info: () => undefined, warn: () => undefined },
})
await limiter.started()
await comesTrue(() => limiter.state().shared)
for (let place = 0; place < Number(count); place += 1) await limiter.admit(limitedCaller(account), () => 1)
process.stdout.write('taken\n')
setInterval(() => undefined, 60_000)
