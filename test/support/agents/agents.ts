/** Agents in the whole application, asked without a socket, and a worker's part of them that runs nothing: the tests' own. */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type AccountId, type AgentId, createIdSource, type IdSource } from '../../../src/domain/ids.ts'
import type { BeginDeps } from '../../../src/features/agents/lifecycle.ts'
import { endRun, failure, type RunClaim, type RunEnding, startRun } from '../../../src/features/agents/run.ts'
import { findAgent, lastRunOf } from '../../../src/features/agents/store.ts'
import { eventRecorder } from '../../../src/features/webhooks/events.ts'
import { type AppForTests, openApp } from '../browser/signed-in.ts'

export const ORDER = {
  name: 'Fix it',
  repository: 'acme/website',
  prompt: 'Fix the test.',
  model: 'turnpike-simulator',
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly body: any
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
}

type Method = 'GET' | 'POST' | 'DELETE'
interface Asked {
  readonly body?: object
  readonly key?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface AgentApi {
  readonly app: AppForTests
  readonly accountId: AccountId
  readonly token: string
  readonly ids: IdSource
  readonly deps: BeginDeps
  ask(method: Method, path: string, asked?: Asked): Promise<Answer>
  /** A new one, as it was answered. */
  create(order?: object): Promise<Answer['body']>
  /** Its last run, as a first start of its job has it. */
  claim(agentId: string, attempt?: number): Promise<RunClaim>
  start(agentId: string): Promise<RunClaim>
  end(claim: RunClaim, ending?: RunEnding): ReturnType<typeof endRun>
}

export async function openAgentApi(t: TestContext): Promise<AgentApi> {
  const app = await openApp(t, { role: 'api' })
  const accountId = await app.account()
  const token = await app.key(accountId)
  const { db } = app.database
  const ids = createIdSource(Date.now, randomBytes)
  const deps: BeginDeps = { now: Date.now, ids, recordEvent: eventRecorder({ now: Date.now, ids }) }
  const ask: AgentApi['ask'] = async (method, path, asked = {}) => {
    const { body, key, headers = {} } = asked
    const {
      statusCode,
      body: text,
      ...answer
    } = await app.ask(method, `/v1/agents${path}`, {
      token: asked.token ?? token,
      headers: { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) },
      ...(body === undefined ? {} : { body }),
    })
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    return { status: statusCode, text, headers: answer.headers, body: isJson ? JSON.parse(text) : undefined }
  }
  const claim: AgentApi['claim'] = async (id, attempt = 1) => {
    const agentId = id as AgentId
    const agent = await findAgent(db, { accountId, agentId })
    if (agent === undefined) throw new Error('There is no such agent.')
    return { accountId, agentId, runId: (await lastRunOf(db, agent)).id, attempt }
  }
  return {
    app,
    accountId,
    token,
    ids,
    deps,
    ask,
    create: async (order = {}) => (await ask('POST', '', { body: { ...ORDER, ...order } })).body,
    claim,
    async start(agentId) {
      const mine = await claim(agentId)
      if ((await startRun(db, mine, deps)) === undefined) throw new Error('The run was not started.')
      return mine
    },
    end: (mine, ending = failure('internal_error')) => endRun(db, mine, { ...deps, ending }),
  }
}

export interface StreamedEvent {
  readonly id: number | undefined
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: events are looked at field by field
  readonly data: any
}

/** The blocks of an event stream that has data. */
export function readStream(text: string): readonly StreamedEvent[] {
  return text
    .split('\n\n')
    .map((block) => new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string])))
    .filter((fields) => fields.has('data'))
    .map((fields) => ({
      id: fields.has('id') ? Number(fields.get('id')) : undefined,
      event: fields.get('event') ?? '',
      data: JSON.parse(fields.get('data') ?? ''),
    }))
}
