/** Whether a Redis or Valkey server does what rate limits need of it, for those who set one up. */
import { connectRedis, reasonOf } from './redis-connection.ts'
import { within } from './redis-health.ts'

/** Rejects with the reason, without credentials, unless scripts that write are carried out within the time. */
export async function checkRedis(url: string, timeoutMs: number): Promise<void> {
  const connected = Promise.withResolvers<void>()
  const connection = connectRedis({
    url,
    onConnected: connected.resolve,
    onLost: (reason) => connected.reject(new Error(reason)),
  })
  const probed = connected.promise.then(() => connection.probe())
  try {
    await within(probed, timeoutMs)
  } catch (error) {
    throw new Error(reasonOf(error))
  } finally {
    await connection.close()
  }
}
