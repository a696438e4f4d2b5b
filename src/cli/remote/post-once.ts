/** A change that must not happen twice, on a network that may lose the answer to it. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, mayPass, RefusedError } from './client.ts'
import { UnreachableError } from './http.ts'

/** Before the second, the third and the fourth attempt. */
const WAITS_MS: readonly number[] = [300, 700, 2_000]

/** Sends it again, with the same key, where it was not answered or the server was busy. Rejects as `Client.get` does. */
export async function postOnce(client: Client, path: string, body: object): Promise<unknown> {
  const key = randomUUID()
  for (const waitMs of WAITS_MS) {
    try {
      return await client.sendOnce(path, body, key)
    } catch (error) {
      if (!helpsToRepeat(error)) throw error
    }
    await sleep(waitMs)
  }
  return client.sendOnce(path, body, key).catch(leaveOpen)
}

/** What a server has switched off stays off for these few seconds. */
function helpsToRepeat(error: unknown): boolean {
  return mayPass(error) && !(error instanceof RefusedError && error.code === 'agents_unavailable')
}

function leaveOpen(error: unknown): never {
  if (!(error instanceof UnreachableError)) throw error
  const message = `${error.message} If it was taken all the same, 'turnpike agents list' shows it.`
  throw new Error(message, { cause: error })
}
