/** `turnpike agents create|follow-up`: gives an agent something to do. */
import { text as readAll } from 'node:stream/consumers'
import { textOf } from '../lib/json.ts'
import type { AgentsOptions } from './agents.ts'
import { cut } from './agents-log-lines.ts'
import { inferRepository } from './agents-repository.ts'
import { isAgentId } from './agents-values.ts'
import { waitForAgent } from './agents-wait.ts'
import { FROM_NOW_ON } from './remote/agent-events.ts'
import { createClient } from './remote/client.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'
import { postOnce } from './remote/post-once.ts'
import { note, print, recordOf } from './remote/results.ts'
import { chooseTarget } from './remote/target.ts'
import { wrongUsage } from './wrong-usage.ts'

export interface PromptOptions extends AgentsOptions {
  readonly wait?: boolean
}

export interface CreateOptions extends PromptOptions {
  readonly repository?: string
  readonly name?: string
  readonly model?: string
  readonly branch?: string
  readonly maxCost?: number
  readonly maxSteps?: number
}

const NAME_CHARACTERS = 100

/** Standard output gets the agent's id; with `--wait` its summary; with `--json` all of it. */
export async function agentsCreate(argument: string | undefined, options: CreateOptions): Promise<void> {
  const prompt = await readPrompt(argument)
  const repository = options.repository ?? (await inferRepository())
  const client = createClient(await chooseTarget(options))
  const agent = recordOf(await postOnce(client, '/agents', orderOf({ ...options, repository, prompt })))
  const agentId = textOf(agent['id'])
  if (!isAgentId(agentId)) throw new Error(`${client.target.url} does not say what agent it made.`)
  if (options.wait === true) {
    note(`${agentId} waits for a worker.`)
    return waitForAgent({ client, agentId, after: 0, isJson: options.json === true })
  }
  await print(options.json === true ? jsonLine(agent) : `${agentId}\n`)
  if (options.json !== true) note(`It waits for a worker; 'turnpike agents logs -f ${agentId}' follows it.`)
}

export async function agentsFollowUp(
  agentId: string,
  argument: string | undefined,
  { wait, json, ...target }: PromptOptions,
): Promise<void> {
  const prompt = await readPrompt(argument)
  const client = createClient(await chooseTarget(target))
  const agent = recordOf(await postOnce(client, `/agents/${agentId}/followup`, { prompt }))
  const isRunning = agent['status'] === 'running'
  const told = isRunning ? `${agentId} reads it at its next step.` : `${agentId} waits for a worker.`
  if (wait === true) {
    note(told)
    return waitForAgent({ client, agentId, after: FROM_NOW_ON, isJson: json === true })
  }
  await print(json === true ? jsonLine(agent) : `${told}\n`)
}

/** @param argument `-`, or none, where it is piped in. */
async function readPrompt(argument: string | undefined): Promise<string> {
  if (argument === undefined && process.stdin.isTTY) {
    throw wrongUsage("there is no prompt: give it as an argument, or pipe it in; '-' reads what is typed.")
  }
  const isPiped = argument === undefined || argument === '-'
  const prompt = isPiped ? (await readAll(process.stdin)).trimEnd() : argument
  if (prompt.trim() === '') throw wrongUsage(`the prompt is empty${isPiped ? ', and so is standard input' : ''}.`)
  return prompt
}

interface Order extends Pick<CreateOptions, 'name' | 'model' | 'branch' | 'maxCost' | 'maxSteps'> {
  readonly repository: string
  readonly prompt: string
}

/** What is undefined is not sent. */
function orderOf({ name, repository, prompt, model, branch, maxCost, maxSteps }: Order): object {
  const limits = { max_cost_usd: maxCost, max_steps: maxSteps }
  return { name: name ?? nameOf(prompt), repository, prompt, model, branch, ...limits }
}

/** Its first line that says anything. */
function nameOf(prompt: string): string {
  const lines = prompt.split('\n').map(plainLine)
  return cut(lines.find((line) => line !== '') ?? 'Agent', NAME_CHARACTERS)
}
