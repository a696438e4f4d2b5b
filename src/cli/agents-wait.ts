/** What `--wait` does: stays until an agent has ended, and says how. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { goesOn, summaryOf } from './agents.ts'
import { agentLogLine, failureText } from './agents-log-lines.ts'
import { type AgentEvent, followAgent } from './remote/agent-events.ts'
import { type Client, mayPass } from './remote/client.ts'
import { jsonLine } from './remote/plain-text.ts'
import { note, print, recordOf } from './remote/results.ts'
import { TOLD_OF_CONNECTION, untilStopped } from './remote/watching.ts'

export interface Waiting {
  readonly client: Client
  readonly agentId: string
  /** The number of the last event that is of no interest. */
  readonly after: number
  /** Standard output gets the agent, else its summary; nothing else in either case. */
  readonly isJson: boolean
}

const LOOK_AGAIN_MS = 500

/** Rejects unless the agent completes. */
export async function waitForAgent({ client, agentId, after, isJson }: Waiting): Promise<void> {
  let agent: Json = {}
  await untilStopped(async (signal) => {
    agent = await endOf({ client, agentId, after, signal })
  })
  if (agent['status'] === undefined) {
    const [follow, cancel] = [`turnpike agents logs -f ${agentId}`, `turnpike agents cancel ${agentId}`]
    throw new Error(`Stopped waiting. The agent goes on: '${follow}' follows it, '${cancel}' ends it.`)
  }
  const { status, error } = agent
  const isCompleted = status === 'completed'
  if (isJson) await print(jsonLine(agent))
  else if (isCompleted) await print(summaryOf(agent)) // else it is one of an earlier run
  if (isCompleted) return note(`'turnpike agents diff ${agentId}' shows what it changed.`)
  throw new Error(`${agentId}: ${textOf(status)}${isRecord(error) ? `: ${failureText(error)}` : ''}`)
}

interface Until extends Omit<Waiting, 'isJson'> {
  readonly signal: AbortSignal
}

/** However long it takes, and whatever becomes of the connection meanwhile. Empty once `signal` says stop. */
async function endOf({ client, agentId, after, signal }: Until): Promise<Json> {
  const feed = { client, agentId, after, signal, isPatient: true, ...TOLD_OF_CONNECTION, onEvent: tellProgress }
  for (;;) {
    await followAgent(feed)
    const agent = signal.aborted ? {} : recordOf(await client.get(`/agents/${agentId}`).catch(unlessItPasses))
    if (agent['status'] !== undefined && !goesOn(agent)) return agent
    if (signal.aborted) return {}
    await sleep(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined) // somebody told it more
  }
}

function unlessItPasses(error: unknown): undefined {
  if (!mayPass(error)) throw error
}

function tellProgress(event: AgentEvent): void {
  if (event.type === 'status' || event.type === 'phase') process.stderr.write(agentLogLine(event, process.stderr))
}
