import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAgentApi, readStream } from '../../../test/support/agents/agents.ts'
import { AGENT_STATUSES, type AgentStatus, isEnded, TRANSITIONS, transition } from '../../domain/agent.ts'
import type { AgentMessage } from '../../runner/ports.ts'
import { moveAgent, RUN_JOB } from './lifecycle.ts'
import {
  endRun,
  failure,
  findArtifact,
  LostRun,
  type RunEnding,
  readOrders,
  recordProgress,
  START_DEADLINE_MS,
  saveArtifact,
  startRun,
} from './run.ts'
import { findAgent, lastRunOf, listOverdueRuns } from './store.ts'
import { coveredBySummary, loadConversation, unseenUserMessages } from './transcript.ts'

const DONE: RunEnding = { status: 'completed', summary: 'Done.', seen: 1 }
const said = (content: string) => ({ kind: 'assistant', message: { role: 'assistant', content } }) as const

test('every change of status there is: agent and run together, one event, one webhook where there is one; no other', async (t) => {
  const { app, accountId, create, claim, deps } = await openAgentApi(t)
  const { db } = app.database
  for (const from of AGENT_STATUSES) {
    for (const to of AGENT_STATUSES) {
      const { id: agentId } = await create()
      const reference = { accountId, agentId }
      await db.updateTable('agent').set({ status: from }).where('id', '=', agentId).execute()
      await db.updateTable('run').set({ status: from }).where('agent_id', '=', agentId).execute()
      await db.deleteFrom('event').execute()
      const move = db.transaction().execute(async (inside) => {
        const agent = await findAgent(inside, reference)
        assert.ok(agent)
        return moveAgent(inside, { agent, run: await lastRunOf(inside, agent), to }, deps)
      })
      const allowed = transition(from, to)
      if (allowed === undefined) {
        await assert.rejects(move, /No agent goes from/)
        continue
      }
      const { status, events } = await move
      const run = await lastRunOf(db, await move)
      assert.deepEqual([status, events], [to, 3])
      // A run itself never waits again: on that way there is a new one.
      assert.equal(run.status, to === 'queued' ? from : to)
      assert.equal((await move).ended_at !== null, isEnded(to))
      const told = await db.selectFrom('event').select(['type', 'data']).execute()
      assert.deepEqual(
        told.map(({ type }) => type),
        allowed.event === undefined ? [] : [allowed.event],
      )
      for (const { data } of told) {
        const { agent, run_id, sequence } = JSON.parse(data)
        assert.deepEqual([agent.id, agent.status, run_id, sequence], [agentId, to, (await claim(agentId)).runId, 3])
      }
    }
  }
  assert.equal(TRANSITIONS.length, 9)
})

test('a run is started once: by the first start of its job, and never by an earlier one again', async (t) => {
  const { app, create, claim, deps } = await openAgentApi(t)
  const { db } = app.database
  const { id } = await create()
  const first = await claim(id, 1)
  const starts = await Promise.all(Array.from({ length: 5 }, () => startRun(db, first, deps)))
  assert.equal(starts.filter((started) => started !== undefined).length, 1)
  const second = await startRun(db, { ...first, attempt: 2 }, deps)
  assert.equal(second?.run.attempt, 2) // nothing but cloning was done
  assert.equal(await startRun(db, first, deps), undefined)
  await assert.rejects(recordProgress(db, first, { progress: {}, now: 1 }), LostRun)
  const events = await db.selectFrom('event').select('type').execute()
  assert.deepEqual(events, [{ type: 'agent.started' }])
})

test('JOB-2: a run whose worker was lost while it worked ends with that reason, or cancelled where that was asked for', async (t) => {
  const { app, ask, create, start, deps } = await openAgentApi(t)
  const { db } = app.database
  for (const isCancelled of [false, true]) {
    const { id } = await create()
    const claim = await start(id)
    await recordProgress(db, claim, { progress: { phase: 'working' }, now: Date.now() })
    if (isCancelled) await ask('POST', `/${id}/cancel`)
    assert.equal(await startRun(db, { ...claim, attempt: 2 }, deps), undefined)
    const { status, error } = (await ask('GET', `/${id}`)).body
    assert.deepEqual([status, error?.code], isCancelled ? ['cancelled', undefined] : ['failed', 'worker_lost'])
  }
})

test('JOB-1: once another start has a run, nothing of the one before is written any more', async (t) => {
  const { app, ask, create, start, deps } = await openAgentApi(t)
  const { db } = app.database
  const { id } = await create()
  const old = await start(id)
  await startRun(db, { ...old, attempt: 2 }, deps)
  const before = (await ask('GET', `/${id}`)).body
  const now = Date.now()
  const artifact = { kind: 'diff', content: Buffer.from('x'), isTruncated: false } as const
  const late = [
    recordProgress(db, old, { progress: { messages: [said('late')] }, now }),
    recordProgress(db, old, { progress: { events: [{ type: 'phase', data: {} }] }, now }),
    saveArtifact(db, old, { artifact, now }),
    recordProgress(db, old, {
      progress: { usage: { steps: 1, promptTokens: 1, completionTokens: 1, costNanoUsd: 1n } },
      now,
    }),
  ]
  await Promise.all(late.map((write) => assert.rejects(write, LostRun)))
  assert.equal(await readOrders(db, old), 'lost')
  assert.equal(await endRun(db, old, { ...deps, ending: DONE }), 'lost')
  assert.deepEqual((await ask('GET', `/${id}`)).body, before)
  assert.equal((await ask('GET', `/${id}/messages`)).body.data.length, 1)
  assert.equal((await ask('GET', `/${id}/diff`)).status, 404)
})

test('[limit: start-deadline] a run that nobody started in time fails, by its job or without it', async (t) => {
  const { app, ask, create, claim, deps } = await openAgentApi(t)
  const { db } = app.database
  const late = { ...deps, now: () => Date.now() + START_DEADLINE_MS + 60_000 }
  const [one, other] = [await create(), await create()]
  assert.equal(await startRun(db, await claim(one.id), late), undefined)
  const overdue = await listOverdueRuns(db, { before: late.now() - START_DEADLINE_MS, limit: 10 })
  assert.deepEqual(
    overdue.map(({ agent_id }) => agent_id),
    [other.id],
  )
  assert.deepEqual(await listOverdueRuns(db, { before: Date.now() - START_DEADLINE_MS, limit: 10 }), [])
  await endRun(db, { ...(await claim(other.id)), attempt: 0 }, { ...deps, ending: failure('start_timeout') })
  for (const { id } of [one, other]) assert.equal((await ask('GET', `/${id}`)).body.error.code, 'start_timeout')
})

test('R-H3: a message that came before a run failed begins the next one; before a run was cancelled it waits', async (t) => {
  const { app, ask, create, start, end } = await openAgentApi(t)
  const tell = (id: string) => ask('POST', `/${id}/followup`, { body: { prompt: 'more' } })
  const endings: readonly (readonly [RunEnding, readonly string[], AgentStatus])[] = [
    [failure('provider_error'), ['failed', 'queued'], 'queued'],
    [{ ...failure('provider_error'), seen: 2 }, ['failed'], 'failed'],
    [{ status: 'cancelled' }, ['cancelled'], 'cancelled'],
  ]
  for (const [ending, statuses, last] of endings) {
    const { id } = await create()
    const claim = await start(id)
    assert.equal((await tell(id)).status, 202)
    if (ending.status === 'cancelled') {
      await app.database.db.updateTable('agent_message').set({ created_at: 1 }).execute()
      await ask('POST', `/${id}/cancel`)
    }
    assert.equal(await end(claim, ending), 'ended')
    const runs = (await ask('GET', `/${id}/runs?order=asc`)).body.data
    assert.deepEqual(
      runs.map(({ status }: { status: string }) => status),
      statuses,
    )
    assert.equal((await ask('GET', `/${id}`)).body.status, last)
  }
  const { id } = await create()
  const claim = await start(id)
  await ask('POST', `/${id}/cancel`)
  await tell(id) // after the cancelling: it is to go on
  await end(claim, { status: 'cancelled' })
  assert.equal((await ask('GET', `/${id}`)).body.status, 'queued')
  const jobs = await app.database.db.selectFrom('job').select('name').where('kind', '=', RUN_JOB).execute()
  assert.equal(jobs.length, 6)
})

test('a run that has failed and taken its message with it is not begun again and again', async (t) => {
  const { ask, create, start, end } = await openAgentApi(t)
  const { id } = await create()
  const first = await start(id)
  await ask('POST', `/${id}/followup`, { body: { prompt: 'more' } })
  await end(first, failure('worker_lost'))
  await end(await start(id), failure('worker_lost'))
  assert.equal((await ask('GET', `/${id}`)).body.status, 'failed')
})

test('what a run used is added up, run by run, and of the agent', async (t) => {
  const { app, ask, create, start, end } = await openAgentApi(t)
  const { id } = await create()
  const usage = { steps: 1, promptTokens: 100, completionTokens: 20, costNanoUsd: 1_500n }
  for (const run of [1, 2]) {
    if (run === 2) await ask('POST', `/${id}/followup`, { body: { prompt: 'more' } })
    const claim = await start(id)
    for (const _ of [1, 2]) await recordProgress(app.database.db, claim, { progress: { usage }, now: Date.now() })
    await end(claim, { ...DONE, seen: 9, commit: { id: 'abc', isPushed: true } })
  }
  const [run] = (await ask('GET', `/${id}/runs`)).body.data
  assert.deepEqual([run.steps, run.commit, run.pushed], [2, 'abc', true])
  assert.deepEqual(run.usage, { prompt_tokens: 200, completion_tokens: 40, tokens: 240, cost_usd: 0.000003 })
  assert.deepEqual((await ask('GET', `/${id}`)).body.usage, { tokens: 480, cost_usd: 0.000006 })
  const [listed] = (await ask('GET', '')).body.data
  assert.deepEqual(listed.usage, { tokens: 480, cost_usd: 0.000006 })
})

test('the conversation of a later run begins with the last summary, and with all that it does not stand for', async (t) => {
  const { app, accountId, ask, create, start } = await openAgentApi(t)
  const { db } = app.database
  const { id } = await create()
  const claim = await start(id)
  const now = Date.now()
  const messages = [said('a'), said('b'), said('c')]
  assert.equal((await recordProgress(db, claim, { progress: { messages }, now })).message, 2)
  await ask('POST', `/${id}/followup`, { body: { prompt: 'unseen' } }) // number 5
  const reference = { accountId, agentId: id }
  assert.equal(await coveredBySummary(db, reference, { kept: 0, last: 4 }), 4)
  const covers = await coveredBySummary(db, reference, { kept: 2, last: 4 })
  assert.equal(covers, 2)
  const summary: AgentMessage = { role: 'user', content: 'So far: a.' }
  const progress = { messages: [{ kind: 'summary' as const, message: summary, covers }] }
  await recordProgress(db, claim, { progress, now })
  const conversation = await loadConversation(db, reference)
  assert.deepEqual(
    conversation.map(({ number, message }) => [number, message.content]),
    [
      [6, 'So far: a.'],
      [3, 'b'],
      [4, 'c'],
      [5, 'unseen'],
    ],
  )
  assert.deepEqual(conversation[0]?.message, summary)
  assert.deepEqual(
    (await unseenUserMessages(db, reference, 1)).map(({ number }) => number),
    [5],
  )
  const shown = (await ask('GET', `/${id}/messages?limit=1`)).body.data[0]
  assert.deepEqual([shown.kind, shown.content, shown.tool_calls], ['summary', 'So far: a.', null])
})

test('the diff is that of the last run that left one; one that was cut off says so', async (t) => {
  const { app, accountId, ask, create, start, end } = await openAgentApi(t)
  const { db } = app.database
  const { id } = await create()
  assert.deepEqual(await ask('GET', `/${id}/diff`).then(({ status, body }) => [status, body.error.code]), [
    404,
    'not_found',
  ])
  const claim = await start(id)
  const save = (kind: 'diff' | 'bundle', text: string, isTruncated = false) =>
    saveArtifact(db, claim, { artifact: { kind, content: Buffer.from(text), isTruncated }, now: Date.now() })
  await save('diff', 'old')
  await save('diff', '+ä\n', true)
  await save('bundle', 'binary')
  await end(claim)
  await ask('POST', `/${id}/followup`, { body: { prompt: 'more' } })
  const { status, text, headers } = await ask('GET', `/${id}/diff`)
  assert.deepEqual([status, text, headers['content-type']], [200, '+ä\n', 'text/plain; charset=utf-8'])
  assert.deepEqual([headers['x-turnpike-truncated'], headers['x-content-type-options']], ['true', 'nosniff'])
  const bundle = await findArtifact(db, { accountId, agentId: id }, 'bundle')
  assert.equal(Buffer.from(bundle?.content ?? '').toString(), 'binary')
})

test('events are numbered without gaps, whoever writes them at once', async (t) => {
  const { app, ask, create, start, end } = await openAgentApi(t)
  const { db } = app.database
  const { id } = await create()
  const claim = await start(id)
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? recordProgress(db, claim, {
            progress: { messages: [said('x')], events: [{ type: 'phase', data: { index } }] },
            now: 1,
          })
        : ask('POST', `/${id}/followup`, { body: { prompt: 'more' } }),
    ),
  )
  await end(claim, { ...failure('max_cost'), seen: 99 })
  const events = readStream((await ask('GET', `/${id}/events`)).text)
  assert.deepEqual(
    events.map(({ id: sequence }) => sequence),
    [...Array.from({ length: 24 }, (_, index) => index + 1), undefined],
  )
  const { data } = (await ask('GET', `/${id}/messages?limit=100&order=asc`)).body
  assert.deepEqual(
    data.map(({ number }: { number: number }) => number),
    Array.from({ length: 21 }, (_, index) => index + 1),
  )
})
