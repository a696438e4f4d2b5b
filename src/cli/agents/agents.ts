/** `turnpike agents list|show|cancel|pull-request|diff|logs`. */

import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import {
  dollars,
  grouped,
  itemsOf,
  jsonLine,
  note,
  plainLine,
  plainTable,
  plainText,
  print,
  recordOf,
  timeText,
} from '../output.ts'
import { type Client, clientOf, mayPass } from '../remote/client.ts'
import { CONNECTION_NOTES, untilStopped } from '../remote/event-stream.ts'
import type { RemoteOptions, TargetOptions } from '../remote/target.ts'
import { type AgentEvent, agentLogLine, cut, failureText, followAgent } from './events.ts'

export interface ListOptions extends RemoteOptions {
  readonly status?: string
  readonly repository?: string
  readonly all?: boolean
}

const NAME_CHARACTERS = 40

export async function agentsList(options: ListOptions): Promise<void> {
  const client = await clientOf(options)
  const page = options.all === true ? await everyAgent(client, options) : await client.get(pathOf(options))
  if (options.json === true) return print(jsonLine(page))
  const rows = itemsOf(page).map((agent) => [
    textOf(agent['id']),
    statusOf(agent),
    textOf(agent['repository']),
    cut(plainLine(textOf(agent['name'])), NAME_CHARACTERS),
    costOf(agent),
    timeText(agent['created_at']),
  ])
  await print(plainTable(['ID', 'STATUS', 'REPOSITORY', 'NAME', 'COST', 'CREATED'], rows))
  if (recordOf(page)['has_more'] === true) note('More agents exist: pass --all to list them.')
}

export async function agentsShow(id: string, options: RemoteOptions): Promise<void> {
  const client = await clientOf(options)
  const agent = recordOf(await client.get(`/agents/${id}`))
  if (options.json === true) return print(jsonLine(agent))
  const [run = {}] = itemsOf(await client.get(`/agents/${id}/runs?limit=1`))
  const lines = describe(agent, run).map(([name, text]) => `${name.padEnd(12)} ${plainLine(text)}\n`)
  const [summary, isOlder] = [summaryOf(agent), agent['status'] !== 'completed']
  const heading = isOlder ? '\nSummary of the last completed run:\n' : '\n'
  await print(`${lines.join('')}${summary === '' ? '' : `${heading}${summary}`}`)
}

export async function agentsCancel(id: string, options: RemoteOptions): Promise<void> {
  const client = await clientOf(options)
  const agent = recordOf(await client.send('POST', `/agents/${id}/cancel`))
  if (options.json === true) return print(jsonLine(agent))
  await print(
    agent['status'] === 'cancelled' ? `Agent ${id} is cancelled.\n` : `Agent ${id} stops within 10 seconds.\n`,
  )
}

export interface PullRequestOptions extends RemoteOptions {
  readonly title?: string
  readonly base?: string
  readonly draft?: boolean
}

/** Prints the address; the same when the pull request was open already. */
export async function agentsPullRequest(
  id: string,
  { title, base, draft, ...options }: PullRequestOptions,
): Promise<void> {
  const client = await clientOf(options)
  const opened = recordOf(await client.send('POST', `/agents/${id}/pull-request`, { title, base, draft }))
  await print(options.json === true ? jsonLine(opened) : `${plainLine(textOf(opened['url']))}\n`)
}

/** Whether the agent is queued or running. */
export function isActive(agent: unknown): boolean {
  const { status } = recordOf(agent)
  return status === 'queued' || status === 'running'
}

/** Returns the summary of the last completed run, or ''. */
export function summaryOf(agent: Json): string {
  const summary = plainText(textOf(agent['summary'])).trim()
  return summary === '' ? '' : `${summary}\n`
}

/** Fetches all pages and returns them as one. */
async function everyAgent(client: Client, options: ListOptions): Promise<object> {
  const data: Json[] = []
  for (let cursor: string | undefined; ; ) {
    const page = recordOf(await client.get(pathOf(options, cursor)))
    data.push(...itemsOf(page))
    cursor = textOf(page['next_cursor'])
    if (page['has_more'] !== true || cursor === '') return { data, has_more: false, next_cursor: null }
  }
}

function pathOf({ status, repository, all }: ListOptions, cursor?: string): string {
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status)
  if (repository !== undefined) query.set('repository', repository)
  if (all === true) query.set('limit', '100')
  if (cursor !== undefined) query.set('cursor', cursor)
  return `/agents${query.size === 0 ? '' : `?${query}`}`
}

function describe(agent: Json, run: Json): readonly (readonly [name: string, text: string])[] {
  const { error } = agent
  const pullRequest = textOf(agent['pull_request_url'])
  return [
    ['agent', textOf(agent['id'])],
    ['name', textOf(agent['name'])],
    ['status', `${textOf(agent['status'])}${isRecord(error) ? `: ${failureText(error)}` : ''}`],
    ['repository', `${textOf(agent['repository'])}, from ${textOf(agent['base_branch']) || 'its default branch'}`],
    ['branch', `${textOf(agent['branch'])}${commitText(run)}`],
    ...(pullRequest === '' ? [] : [['pull request', pullRequest] as const]),
    ['model', textOf(agent['model'])],
    ['used', `${numberText(recordOf(agent['usage'])['tokens'])} tokens, ${costOf(agent)}`],
    ['runs', `${numberText(agent['runs'])}, the last of ${numberText(run['steps'])} steps`],
    ['created', timeText(agent['created_at'])],
    ['started', timeText(agent['started_at'])],
    ['ended', timeText(agent['ended_at'])],
  ]
}

function commitText({ commit, pushed }: Json): string {
  const id = textOf(commit).slice(0, 12)
  return id === '' ? ', no commit yet' : `, commit ${id}, ${pushed === true ? 'pushed' : 'not pushed'}`
}

function statusOf(agent: Json): string {
  const code = textOf(recordOf(agent['error'])['code'])
  return `${textOf(agent['status'])}${code === '' ? '' : ` (${code})`}`
}

function costOf(agent: Json): string {
  const { cost_usd: cost } = recordOf(agent['usage'])
  return typeof cost === 'number' ? dollars(cost) : '-'
}

function numberText(value: unknown): string {
  return typeof value === 'number' ? grouped(value) : '-'
}

/* `turnpike agents diff`: unchanged bytes for programs; for terminals coloured, without control sequences. */

export async function agentsDiff(id: string, options: TargetOptions): Promise<void> {
  const { text, headers } = await (await clientOf(options)).read(`/agents/${id}/diff`)
  await print(process.stdout.isTTY ? colouredDiff(text, process.stdout) : text)
  if (headers.get('x-turnpike-truncated') !== 'true') return
  note('The diff is too large and was truncated.')
  process.exitCode = 1 // so that scripts do not apply a partial diff
}

/** @param stream The output: only terminals get colours. */
export function colouredDiff(diff: string, stream: NodeJS.WritableStream): string {
  let isInHunk = false
  const lines = plainText(diff).replace(/\n$/, '').split('\n')
  const shown = lines.map((line) => {
    if (line.startsWith('diff --git ')) isInHunk = false
    if (line.startsWith('@@ ')) isInHunk = true
    const style = isInHunk ? HUNK_STYLES[line.charAt(0)] : 'bold'
    return style === undefined || line === '' ? line : styleText(style, line, { stream })
  })
  return diff === '' ? '' : `${shown.join('\n')}\n`
}

const HUNK_STYLES: Readonly<Record<string, 'cyan' | 'green' | 'red' | 'dim'>> = {
  '@': 'cyan',
  '+': 'green',
  '-': 'red',
  '\\': 'dim',
}

// `turnpike agents logs` and `--wait`: show the events of an agent.

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
