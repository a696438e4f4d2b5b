/** `turnpike agents create|follow-up`: create agents and send follow-ups. */

import { execFile } from 'node:child_process'
import { text as readAll } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { textOf } from '../../lib/json.ts'
import { isAgentId, isRepository, wrongUsage } from '../option-values.ts'
import { jsonLine, note, plainLine, print, recordOf } from '../output.ts'
import { clientOf, postIdempotent } from '../remote/client.ts'
import type { RemoteOptions } from '../remote/target.ts'
import { waitForAgent } from './agents.ts'
import { cut, FROM_NOW_ON } from './events.ts'

export interface PromptOptions extends RemoteOptions {
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

/** Prints the agent's ID; with `--wait` its summary; with `--json` the whole agent. */
export async function agentsCreate(argument: string | undefined, options: CreateOptions): Promise<void> {
  const prompt = await readPrompt(argument)
  const repository = options.repository ?? (await inferRepository())
  const client = await clientOf(options)
  const agent = recordOf(await postIdempotent(client, '/agents', requestBody({ ...options, repository, prompt })))
  const agentId = textOf(agent['id'])
  if (!isAgentId(agentId)) throw new Error(`${client.target.url} returned no agent ID.`)
  if (options.wait === true) {
    note(`Agent ${agentId} is queued.`)
    return waitForAgent({ client, agentId, after: 0, isJson: options.json === true })
  }
  await print(options.json === true ? jsonLine(agent) : `${agentId}\n`)
  if (options.json !== true) note(`The agent is queued. Run 'turnpike agents logs -f ${agentId}' to follow it.`)
}

export async function agentsFollowUp(
  agentId: string,
  argument: string | undefined,
  { wait, json, ...target }: PromptOptions,
): Promise<void> {
  const prompt = await readPrompt(argument)
  const client = await clientOf(target)
  const agent = recordOf(await postIdempotent(client, `/agents/${agentId}/followup`, { prompt }))
  const isRunning = agent['status'] === 'running'
  const status = isRunning
    ? `Agent ${agentId} reads the follow-up before its next step.`
    : `Agent ${agentId} is queued.`
  if (wait === true) {
    note(status)
    return waitForAgent({ client, agentId, after: FROM_NOW_ON, isJson: json === true })
  }
  await print(json === true ? jsonLine(agent) : `${status}\n`)
}

/** @param argument `-` or undefined: reads standard input. */
async function readPrompt(argument: string | undefined): Promise<string> {
  if (argument === undefined && process.stdin.isTTY) {
    throw wrongUsage("no prompt: pass it as an argument or pipe it in; '-' reads standard input.")
  }
  const isPiped = argument === undefined || argument === '-'
  const prompt = isPiped ? (await readAll(process.stdin)).trimEnd() : argument
  if (prompt.trim() === '')
    throw wrongUsage(isPiped ? 'the prompt from standard input is empty.' : 'the prompt is empty.')
  return prompt
}

interface AgentRequest extends Pick<CreateOptions, 'name' | 'model' | 'branch' | 'maxCost' | 'maxSteps'> {
  readonly repository: string
  readonly prompt: string
}

/** Renders the body; `JSON.stringify` omits undefined fields. */
function requestBody({ name, repository, prompt, model, branch, maxCost, maxSteps }: AgentRequest): object {
  const limits = { max_cost_usd: maxCost, max_steps: maxSteps }
  return { name: name ?? nameOf(prompt), repository, prompt, model, branch, ...limits }
}

/** Returns the first line that is not blank. */
function nameOf(prompt: string): string {
  const lines = prompt.split('\n').map(plainLine)
  return cut(lines.find((line) => line !== '') ?? 'Agent', NAME_CHARACTERS)
}

const GIT_TIMEOUT_MS = 10_000

/** Returns the repository of the remote `origin` of the working directory. Failure is wrong usage: pass the flag instead. */
async function inferRepository(): Promise<string> {
  const address = await originOf(process.cwd())
  if (address === undefined) throw unknown("this folder has no git remote 'origin'")
  const repository = repositoryOf(address)
  // the message omits the address, which may contain a password
  if (repository === undefined)
    throw unknown("the git remote 'origin' of this folder is not an https or ssh address of organisation/repository")
  note(`Repository: ${repository} (from the remote 'origin').`)
  return repository
}

async function originOf(folder: string): Promise<string | undefined> {
  try {
    const options = { cwd: folder, timeout: GIT_TIMEOUT_MS }
    const { stdout } = await promisify(execFile)('git', ['remote', 'get-url', 'origin'], options)
    return stdout.trim()
  } catch {
    return undefined
  }
}

/** Reads `https://host/o/r.git`, `ssh://git@host:22/o/r` and `git@host:o/r.git`. Undefined for anything else. */
export function repositoryOf(address: string): string | undefined {
  const path = pathOf(address)
    ?.replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/i, '')
  return path !== undefined && isRepository(path) ? path : undefined
}

function pathOf(address: string): string | undefined {
  if (/^(https?|ssh|git\+ssh):\/\//i.test(address)) return URL.parse(address)?.pathname
  // a single letter before the colon is a drive of Windows
  const [, path] = /^(?:[^@:/\s]+@)?(?:\[[^\]\s]+\]|[^:/@\s]{2,}):(?!\/\/)(\S+)$/.exec(address) ?? []
  return path
}

function unknown(reason: string): Error {
  return wrongUsage(`${reason}; pass --repository organisation/repository.`)
}
