/**
 * A gateway under load that is killed again and again, a provider whose own billing log is the truth, and the questions
 * asked at the end: was everything metered, once, and is every cent where it belongs?
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, getJson, send } from '../../support/client.ts'
import { type Gateway, model, startGateway } from '../../support/gateway.ts'
import { creditAtRest, everyRow, type Reconciled, reconcile, type UsageRow } from '../../support/ledger/money.ts'
import { bodyOf, chunk, completion, counts, frame, SSE_HEAD, usageChunk } from '../../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../../support/providers/fake-provider.ts'

const GRANTED_USD = 100
/** Requests of a third of the workers have it until its budget, which two of them fill at a time, refuses one. */
const SCARCE_TAG = 'load=scarce'
/** In total. All but that of the tag are never spent. */
const BUDGETS_USD = { account: 90, team: 80, key: 70, tag: 0.001 } as const
const WORKERS = 8
const WORDS = 12
const PROMPT_TOKENS = 9
/** A process is missed after 30 s, and its sweeper waits as long itself. */
const SWEPT_WITHIN_MS = 180_000
const DIES_WITHIN_MS = 180_000

/** What the provider has generated and would charge for, by the words of the request. */
export type BillingLog = Map<string, { completionTokens: number; calls: number }>

/** What a client saw of a request. */
interface Seen {
  /** Of the round in which it was first asked. */
  readonly title: string
  readonly name: string
  readonly idempotent: boolean
  /** Whether the whole answer arrived. */
  whole: boolean
  unknown: boolean
}

export interface CrashLoop {
  /**
   * Starts the gateway, lets the load run until the process is dead. `kill` decides when, unless it dies by itself.
   * @param title A line of the table that `verify` makes.
   */
  round(title: string, how: Dying): Promise<void>
  /** Starts it once more, waits until nothing is held, and looks at everything. */
  verify(): Promise<Verdict>
  close(): Promise<void>
}

/** How a process comes to its end. */
export interface Dying {
  readonly env?: Readonly<Record<string, string>>
  /** Resolves when it is to be killed. @param answered Resolves with the first whole answer of the round. */
  readonly kill?: (gateway: Gateway, answered: Promise<void>) => Promise<void>
}

/** What became of the requests that were first asked for in the rounds of one title. */
export interface Line {
  readonly title: string
  readonly kills: number
  readonly requests: number
  readonly whole: number
  readonly billed: number
  readonly metered: number
  readonly estimated: number
}

export interface Verdict {
  readonly lines: readonly Line[]
  readonly kills: number
  readonly requests: number
  readonly whole: number
  readonly billedByProvider: number
  readonly unmetered: number
  readonly meteredTwice: number
  readonly phantoms: number
  /** Charged their prompt alone: killed between the note that they leave and the moment they were there. */
  readonly neverArrived: number
  readonly inexact: number
  readonly calledTwice: number
  readonly estimated: number
  readonly heldUsd: number
  readonly budgets: readonly BudgetLine[]
  readonly reconciled: Reconciled
  readonly conserved: boolean
}

/** A budget at rest, in nano-dollars. */
interface BudgetLine {
  readonly level: string
  readonly limit: number
  readonly spent: number
  readonly held: number
  /** The cost of the requests that count in it. */
  readonly expected: number
}

export async function startCrashLoop(): Promise<CrashLoop> {
  const log: BillingLog = new Map()
  const provider = await startFakeProvider(billing(log))
  const config = {
    providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
    models: [model('m1', 'up', 'up-model')],
    plans: { wide: { requests_per_minute: 1_000_000, max_in_flight: 5_000 } },
    routing: { max_attempts: 1 },
  }
  const first = await startGateway({ config })
  const account = await first.cli('accounts', 'create', '--name', 'crash', '--plan', 'wide')
  await first.cli('credits', 'grant', '--account', account, '--usd', String(GRANTED_USD))
  const key = await first.key('--account', account)
  const loadKey = await createBudgets(first, account)
  first.signal('SIGTERM')
  await first.exited
  const seen: Seen[] = []
  const titles: string[] = []
  const start = (env: Readonly<Record<string, string>> = {}) => startGateway({ config, dataDir: first.dataDir, env })
  return {
    async round(title, { env = {}, kill = byItself }) {
      const gateway = await start(env)
      const load = runLoad(gateway, { title, key: loadKey, seen })
      await kill(gateway, load.answered)
      gateway.signal('SIGKILL')
      await gateway.exited
      titles.push(title)
      await load.stop()
    },
    async verify() {
      const gateway = await start()
      const credit = await creditAtRest(gateway, { account, key }, SWEPT_WITHIN_MS)
      const rows = await everyRow<TaggedRow>(gateway, key, '/v1/usage/completions')
      const reconciled = await reconcile(gateway, key)
      const spent = rows.reduce((sum, { cost_usd }) => sum + Math.round(cost_usd * 1e9), 0)
      const conserved = Math.round(credit.balance_usd * 1e9) === GRANTED_USD * 1e9 - spent
      const budgets = await budgetsOf(gateway, key, rows)
      await gateway.stop()
      const lines = linesOf({ log, seen, rows }, titles)
      const sums = compare({ log, seen, rows })
      return { lines, kills: titles.length, ...sums, heldUsd: credit.held_usd, budgets, reconciled, conserved }
    },
    async close() {
      await provider.close()
      await first.stop()
    },
  }
}

/** Gives the account, a team, a key of it and a tag budgets. @returns The key. */
async function createBudgets(gateway: Gateway, account: string): Promise<string> {
  const team = await gateway.cli('teams', 'create', '--name', 'crash', '--account', account)
  const of = ['--account', account, '--team', team, '--scopes', 'chat'] as const
  const made = JSON.parse(await gateway.cli('keys', 'create', '--name', 'load', ...of, '--json'))
  const subjects = { account, team, key: made.id, tag: SCARCE_TAG }
  for (const [level, usd] of Object.entries(BUDGETS_USD)) {
    const subject = subjects[level as keyof typeof subjects]
    const budget = ['--level', level, '--subject', subject, '--budget', `${usd}/total`]
    await gateway.cli('budgets', 'set', '--account', account, ...budget)
  }
  return made.key
}

async function budgetsOf(gateway: Gateway, key: string, rows: readonly TaggedRow[]): Promise<readonly BudgetLine[]> {
  const nano = (usd: number) => Math.round(usd * 1e9)
  const costOf = (some: readonly TaggedRow[]) => some.reduce((sum, { cost_usd }) => sum + nano(cost_usd), 0)
  const ofTag = rows.filter(({ tags }) => `load=${tags['load']}` === SCARCE_TAG)
  const { data } = await getJson<{ readonly data: readonly ShownBudget[] }>(gateway, key, '/v1/budgets')
  return data.map(({ level, limit_usd, spent_usd, held_usd }) => ({
    level,
    limit: nano(limit_usd),
    spent: nano(spent_usd),
    held: nano(held_usd),
    expected: costOf(level === 'tag' ? ofTag : rows),
  }))
}

interface TaggedRow extends UsageRow {
  readonly tags: Readonly<Record<string, string>>
}

interface ShownBudget {
  readonly level: string
  readonly limit_usd: number
  readonly spent_usd: number
  readonly held_usd: number
}

/** The process has been told where to die; one that never gets there fails the test. */
async function byItself({ exited }: Gateway): Promise<void> {
  const died = await Promise.race([exited.then(() => true), sleep(DIES_WITHIN_MS, false, { ref: false })])
  assert.ok(died, 'the process has come to its crash point')
}

/** Generates a word after a word, and notes each before it is sent: what was generated is owed. */
function billing(log: BillingLog): Script {
  return async (call, reply) => {
    const { messages, stream } = bodyOf(call)
    const name = String(messages[0]?.content)
    const row = log.get(name) ?? { completionTokens: 0, calls: 0 }
    log.set(name, row)
    row.calls += 1
    if (stream !== true) {
      row.completionTokens += WORDS
      await reply.wait(15)
      reply.head(200, { 'content-type': 'application/json' })
      const usage = counts(PROMPT_TOKENS, WORDS)
      return reply.end(JSON.stringify(completion({ content: ' hello'.repeat(WORDS) }, { usage })))
    }
    reply.head(200, SSE_HEAD)
    await reply.write(frame(chunk({ role: 'assistant', content: '' })))
    for (let word = 0; word < WORDS; word++) {
      row.completionTokens += 1
      if (!(await reply.write(frame(chunk({ content: ' hello' }))))) return
      if (!(await reply.wait(4))) return
    }
    await reply.write(frame(chunk({}, 'stop')) + frame(usageChunk(counts(PROMPT_TOKENS, WORDS))))
    reply.end(frame('[DONE]'))
  }
}

let named = 0

/** Workers that ask without a pause, a third of them each whole, streamed and with an idempotency key. */
function runLoad(
  gateway: Gateway,
  { title, key, seen }: { readonly title: string; readonly key: string; readonly seen: Seen[] },
) {
  let running = true
  let isScarce = true
  const first = Promise.withResolvers<void>()
  const worker = async (kind: number): Promise<void> => {
    // What the last process left without an answer is asked again first, as a client would.
    const again = kind % 3 === 2 ? seen.findLast((each) => each.idempotent && !each.whole && !each.unknown) : undefined
    if (again !== undefined) await ask(gateway, { key, request: again, kind, tag: undefined })
    while (running) {
      named += 1
      const name = `request-${named}`
      const request: Seen = { title, name, idempotent: kind % 3 === 2, whole: false, unknown: false }
      seen.push(request)
      const tag = isScarce && kind % 3 === 0 ? SCARCE_TAG : undefined
      const status = await ask(gateway, { key, request, kind, tag })
      if (status === undefined) return
      if (status === 402) isScarce = false
      if (request.whole) first.resolve()
    }
  }
  const workers = Array.from({ length: WORKERS }, (_, kind) => worker(kind))
  return {
    answered: first.promise,
    async stop() {
      running = false
      await Promise.all(workers)
    },
  }
}

interface Asking {
  readonly key: string
  readonly request: Seen
  readonly kind: number
  readonly tag: string | undefined
}

/** @returns The status; undefined when the gateway is gone. */
async function ask(gateway: Gateway, { key, request, kind, tag }: Asking): Promise<number | undefined> {
  const { name, idempotent } = request
  const stream = kind % 3 === 1
  try {
    const { status, text } = await send(gateway, CHAT, {
      key,
      body: { model: 'm1', messages: [{ role: 'user', content: name }], max_tokens: 50, stream },
      headers: {
        'x-client-request-id': name,
        ...(idempotent && { 'idempotency-key': name }),
        ...(tag !== undefined && { 'x-turnpike-tags': tag }),
      },
      fresh: true,
    })
    request.whole = status === 200 && (!stream || text.includes('[DONE]'))
    request.unknown = status === 409
    return status
  } catch {
    return undefined
  }
}

interface Evidence {
  readonly log: BillingLog
  readonly seen: readonly Seen[]
  readonly rows: readonly UsageRow[]
}

function compare({ log, seen, rows }: Evidence) {
  const byName = Map.groupBy(rows, ({ client_request_id: name }) => name)
  const billed = [...log]
  const unlogged = rows.filter(({ cost_usd, client_request_id: name }) => cost_usd > 0 && !log.has(name ?? ''))
  const wholeRow = ({ name }: Seen): UsageRow | undefined => byName.get(name)?.[0]
  return {
    requests: seen.length,
    whole: seen.filter(({ whole }) => whole).length,
    billedByProvider: billed.length,
    unmetered: billed.filter(([name]) => !byName.has(name)).length,
    meteredTwice: billed.filter(([name, { calls }]) => (byName.get(name)?.length ?? 0) > calls).length,
    phantoms: unlogged.filter((row) => !isPromptAlone(row)).length,
    neverArrived: unlogged.filter(isPromptAlone).length,
    inexact: seen.filter((each) => each.whole && wholeRow(each)?.completion_tokens !== WORDS).length,
    calledTwice: seen.filter(({ name, idempotent }) => idempotent && (log.get(name)?.calls ?? 0) > 1).length,
    estimated: rows.filter(({ usage_source }) => usage_source === 'estimated').length,
  }
}

/** Nobody can know whether the last bytes that a dying process gave to the kernel were read: the prompt is charged then. */
function isPromptAlone({ usage_source: source, completion_tokens: tokens }: UsageRow): boolean {
  return source === 'estimated' && tokens === 0
}

function linesOf({ log, seen, rows }: Evidence, titles: readonly string[]): readonly Line[] {
  const metered = Map.groupBy(rows, ({ client_request_id: name }) => name)
  return [...Map.groupBy(titles, (title) => title)].map(([title, { length: kills }]) => {
    const asked = seen.filter((each) => each.title === title)
    const own = asked.flatMap(({ name }) => metered.get(name) ?? [])
    return {
      title,
      kills,
      requests: asked.length,
      whole: asked.filter(({ whole }) => whole).length,
      billed: asked.filter(({ name }) => log.has(name)).length,
      metered: own.length,
      estimated: own.filter(({ usage_source }) => usage_source === 'estimated').length,
    }
  })
}

/** A table, so that the log of a run shows what was tried and what came of it. */
export function printVerdict(title: string, verdict: Verdict): void {
  const { lines, reconciled, ...sums } = verdict
  const columns = ['kills', 'requests', 'whole', 'billed', 'metered', 'estimated'] as const
  const row = (cells: readonly (string | number)[]): string => cells.map((cell) => String(cell).padStart(10)).join('')
  console.log(`crash loop, ${title}`)
  console.log(`${'killed at'.padEnd(20)}${row(columns)}`)
  for (const line of lines) console.log(`${line.title.padEnd(20)}${row(columns.map((column) => line[column]))}`)
  console.log(`crash loop, ${title}: ${JSON.stringify({ ...sums, reconciled: reconciled.ok })}`)
}

export function assertSound(verdict: Verdict): void {
  const { unmetered, meteredTwice, phantoms, inexact, calledTwice, heldUsd, reconciled, conserved } = verdict
  const { budgets } = verdict
  assert.deepEqual(
    budgets.map(({ level }) => level).toSorted(),
    Object.keys(BUDGETS_USD).toSorted(),
    'each level has a budget',
  )
  const overspent = budgets.filter(({ spent, limit }) => spent > limit).length
  const unreleased = budgets.filter(({ held }) => held !== 0).length
  const miscounted = budgets.filter(({ spent, expected }) => spent !== expected).length
  assert.ok(verdict.whole > 0, 'some requests were answered')
  assert.ok(verdict.neverArrived <= Math.max(1, verdict.kills / 10), 'a window of microseconds is seldom hit')
  assert.deepEqual(
    {
      unmetered,
      meteredTwice,
      phantoms,
      inexact,
      calledTwice,
      heldUsd,
      conserved,
      reconciled: reconciled.ok,
      overspent,
      unreleased,
      miscounted,
    },
    {
      unmetered: 0,
      meteredTwice: 0,
      phantoms: 0,
      inexact: 0,
      calledTwice: 0,
      heldUsd: 0,
      conserved: true,
      reconciled: true,
      overspent: 0,
      unreleased: 0,
      miscounted: 0,
    },
  )
}
