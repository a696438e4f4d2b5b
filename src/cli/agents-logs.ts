/** `turnpike agents logs`: what an agent did, line by line, and with `-f` what it does. */
import { goesOn } from './agents.ts'
import { agentLogLine } from './agents-log-lines.ts'
import { type AgentEvent, followAgent } from './remote/agent-events.ts'
import { createClient } from './remote/client.ts'
import { jsonLine } from './remote/plain-text.ts'
import { note } from './remote/results.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'
import { TOLD_OF_CONNECTION, untilStopped } from './remote/watching.ts'

export interface LogsOptions extends TargetOptions {
  readonly follow?: boolean
  readonly json?: boolean
}

export async function agentsLogs(id: string, { follow, json, ...target }: LogsOptions): Promise<void> {
  const client = createClient(await chooseTarget(target))
  const onEvent = (event: AgentEvent) => {
    process.stdout.write(json === true ? jsonLine(event.whole) : agentLogLine(event, process.stdout))
  }
  await untilStopped(async (signal) => {
    const feed = { client, agentId: id, signal, onEvent }
    if (follow === true) return followAgent({ ...feed, ...TOLD_OF_CONNECTION })
    const agent = await client.get(`/agents/${id}`)
    await followAgent({ ...feed, ...ONE_CONNECTION, isPast: true })
    if (goesOn(agent)) note(`${id} goes on; -f follows it.`)
  })
}

/** Half of a log must not pass for all of it. */
const ONE_CONNECTION = {
  onConnected: () => {},
  onLost(reason: string): never {
    throw new Error(`The connection was lost: ${reason}.`)
  },
}
