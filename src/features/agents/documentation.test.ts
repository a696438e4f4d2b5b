/** Tables of `docs/agents.md` against the code. Runs on one database. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ORDER, openAgentApi } from '../../../test/support/agents/agents.ts'
import { AGENT_EVENT_TYPES, RUN_ERRORS, TRANSITIONS } from '../../domain/agent.ts'

const PAGE = readFileSync(new URL('../../../docs/agents.md', import.meta.url), 'utf8')

/** The rows of the table that begins with this head. */
function rowsOf(head: string): readonly string[] {
  const lines = PAGE.slice(PAGE.indexOf(head)).split('\n')
  return lines.slice(2, lines.indexOf('')).map((line) => line.trim())
}

test('docs/agents.md has the table of transitions, the errors and the events as they are in the code', () => {
  assert.deepEqual(
    rowsOf('| status | becomes |'),
    TRANSITIONS.map(
      ({ from, to, when, event }) => `| \`${from}\` | \`${to}\` | ${when} | ${event ? `\`${event}\`` : '–'} |`,
    ),
  )
  assert.deepEqual(
    rowsOf('| code | |'),
    Object.entries(RUN_ERRORS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`),
  )
  const events = rowsOf('| event | `data.data` |').map((row) => /^\| `(\w+)`/.exec(row)?.[1])
  assert.deepEqual(events, [...AGENT_EVENT_TYPES])
})

test('the agent that docs/agents.md shows has the fields of one that is created as it says', async (t) => {
  const { ask } = await openAgentApi(t)
  const [, order = ''] = /-d '(\{"name".*?\})'/.exec(PAGE) ?? []
  const [, shown = ''] = /```json\n(.*?)```/s.exec(PAGE) ?? []
  const { body } = await ask('POST', '', { body: { ...JSON.parse(order), model: ORDER.model } })
  const { id, branch, created_at, created_by, asked_by, ...rest } = JSON.parse(shown)
  assert.deepEqual(Object.keys(body), Object.keys(JSON.parse(shown)))
  assert.deepEqual(Object.keys(body.created_by), Object.keys(created_by))
  assert.deepEqual(asked_by, created_by)
  assert.deepEqual({ ...body, ...rest }, body)
  assert.equal(branch, `turnpike/${id}`)
  assert.equal(new Date(created_at).toISOString(), created_at)
})
