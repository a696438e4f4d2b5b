/** `turnpike agents logs` and `--wait`: show the events of an agent. */

import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { jsonLine, note, print, recordOf } from '../output.ts'
import { type Client, clientOf, mayPass } from '../remote/client.ts'
import { CONNECTION_NOTES, untilStopped } from '../remote/event-stream.ts'
import type { RemoteOptions } from '../remote/target.ts'
import { isActive, summaryOf } from './agents.ts'
import { type AgentEvent, agentLogLine, failureText, followAgent } from './events.ts'

export interface LogsOptions extends RemoteOptions {
  readonly follow?: boolean
}

export async function agentsLogs(id: string, { follow, json, ...target }: LogsOptions): Promise<void> {
  const client = await clientOf(target)
  const onEvent = (event: AgentEvent) => {
    process.stdout.write(json === true ? jsonLine(event.whole) : agentLogLine(event, process.stdout))
  }
  await untilStopped(async (signal) => {
    const feed = { client, agentId: id, signal, onEvent }
    if (follow === true) return followAgent({ ...feed, ...CONNECTION_NOTES })
    const agent = await client.get(`/agents/${id}`)
    await followAgent({ ...feed, ...ONE_CONNECTION, isPast: true })
    if (isActive(agent)) note(`Agent ${id} is still running; pass -f to follow it.`)
  })
}

/** Fails when the connection is lost, so that an incomplete log is an error. */
const ONE_CONNECTION = {
  onConnected: () => {},
  onLost(reason: string): never {
    throw new Error(`The connection was lost: ${reason}.`)
  },
}

interface Waiting {
  readonly client: Client
  readonly agentId: string
  /** Sequence number of the last event to skip. */
  readonly after: number
  /** Prints the agent as JSON instead of its summary. */
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
    throw new Error(`Stopped waiting. The agent is still running: '${follow}' follows it, '${cancel}' cancels it.`)
  }
  const { status, error } = agent
  const isCompleted = status === 'completed'
  if (isJson) await print(jsonLine(agent))
  else if (isCompleted) await print(summaryOf(agent)) // otherwise the summary is of an earlier run
  if (isCompleted) return note(`Run 'turnpike agents diff ${agentId}' to see the changes.`)
  throw new Error(`${agentId}: ${textOf(status)}${isRecord(error) ? `: ${failureText(error)}` : ''}`)
}

interface Until extends Omit<Waiting, 'isJson'> {
  readonly signal: AbortSignal
}

/** Waits until the agent ends, across lost connections. Empty after `signal` aborts. */
async function endOf({ client, agentId, after, signal }: Until): Promise<Json> {
  const feed = { client, agentId, after, signal, retriesFirst: true, ...CONNECTION_NOTES, onEvent: showProgress }
  for (;;) {
    await followAgent(feed)
    const agent = signal.aborted ? {} : recordOf(await client.get(`/agents/${agentId}`).catch(unlessItPasses))
    if (agent['status'] !== undefined && !isActive(agent)) return agent
    if (signal.aborted) return {}
    await sleep(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined) // a follow-up started another run
  }
}

function unlessItPasses(error: unknown): undefined {
  if (!mayPass(error)) throw error
}

function showProgress(event: AgentEvent): void {
  if (event.type === 'status' || event.type === 'phase') process.stderr.write(agentLogLine(event, process.stderr))
}
