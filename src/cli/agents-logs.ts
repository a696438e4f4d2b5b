/** `turnpike agents logs`: what an agent did, line by line, and with `-f` what it does. */
import { goesOn } from './agents.ts'
import { agentLogLine } from './agents-log-lines.ts'
import { type AgentEvent, followAgent } from './remote/agent-events.ts'
import { type Client, createClient } from './remote/client.ts'
import { jsonLine } from './remote/plain-text.ts'
import { note } from './remote/results.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'
import { TOLD_OF_CONNECTION, untilStopped } from './remote/watching.ts'

export interface LogsOptions extends TargetOptions {
  readonly follow?: boolean
  readonly json?: boolean
}

interface Reading {
  readonly client: Client
  readonly agentId: string
  readonly signal: AbortSignal
  readonly onEvent: (event: AgentEvent) => void
}

/** A server looks for news twice a second: where none came for so long, there was none. */
const QUIET_MS = 1_500

export async function agentsLogs(id: string, { follow, json, ...target }: LogsOptions): Promise<void> {
  const client = createClient(await chooseTarget(target))
  const onEvent = (event: AgentEvent) => {
    process.stdout.write(json === true ? jsonLine(event.whole) : agentLogLine(event, process.stdout))
  }
  await untilStopped(async (signal) => {
    const reading = { client, agentId: id, signal, onEvent }
    if (follow === true) return followAgent({ ...reading, ...TOLD_OF_CONNECTION })
    if (!goesOn(await client.get(`/agents/${id}`))) return followAgent({ ...reading, ...ONE_CONNECTION })
    await readSoFar(reading)
    note(`${id} goes on; -f follows it.`)
  })
}

/** Half of a log must not pass for all of it. */
const ONE_CONNECTION = {
  onConnected: () => {},
  onLost(reason: string): never {
    throw new Error(`The connection was lost: ${reason}.`)
  },
}

/** An agent that goes on has a past without an end: it ends where nothing more comes, or what comes is new. */
async function readSoFar({ signal, onEvent, ...reading }: Reading): Promise<void> {
  const enough = new AbortController()
  let quiet: NodeJS.Timeout | undefined
  let openedAt = Number.NaN
  try {
    await followAgent({
      ...reading,
      ...ONE_CONNECTION,
      signal: AbortSignal.any([signal, enough.signal]),
      onConnected(_, serverTime) {
        openedAt = serverTime
      },
      onEvent(event) {
        quiet = quiet?.refresh() ?? setTimeout(() => enough.abort(), QUIET_MS)
        // the server's time is cut to a second
        if (Date.parse(event.createdAt) > openedAt + 1_000) enough.abort()
        if (!enough.signal.aborted) onEvent(event)
      },
    })
  } finally {
    clearTimeout(quiet)
  }
}
