import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BudgetDraft, draftOf, missingOf, missingOfRaise, NEW_BUDGET, raiseBody, termsOfDraft } from './draft.ts'
import type { Budget } from './queries.ts'

const BUDGET: Budget = {
  ...{ id: 'bud_1', object: 'budget', level: 'team', subject: 'team_1', usd: 50, window: 'week', action: 'warn' },
  ...{ starts: '2026-11-21T23:30:00.000Z', timezone: 'Europe/Berlin', limit_usd: 50, spent_usd: 1, held_usd: 0 },
  ...{ remaining_usd: 49, window_start: '2026-11-21T23:30:00.000Z', resets_at: null },
  ...{ forecast_exhausted_at: null, raises: [] },
}

test('a budget that is changed keeps its start to the minute, unless its day is changed', () => {
  const draft = draftOf(BUDGET)
  assert.equal(draft.starts, '2026-11-22', 'the day in its time zone')
  const terms = { usd: 50, window: 'week', timezone: 'Europe/Berlin', starts: BUDGET.starts, action: 'warn' }
  assert.deepEqual(termsOfDraft(draft, BUDGET), terms)
  assert.deepEqual(termsOfDraft({ ...draft, usd: '60.5' }, BUDGET), { ...terms, usd: 60.5 })
  assert.equal(termsOfDraft({ ...draft, starts: '2026-11-23' }, BUDGET).starts, '2026-11-23')
  assert.equal(termsOfDraft({ ...draft, starts: '' }, BUDGET).starts, null)
  assert.equal(termsOfDraft({ ...NEW_BUDGET, usd: '5' }).starts, null)
})

test('what is still needed is said, one thing after the other', () => {
  const cases: readonly [Partial<BudgetDraft>, string | undefined][] = [
    [{}, 'Enter a limit.'],
    [{ usd: '5' }, undefined],
    [{ usd: '0' }, undefined],
    [{ usd: 'five' }, 'Enter a number.'],
    [{ usd: '5', level: 'team' }, 'Choose a team.'],
    [{ usd: '5', level: 'tag', subject: 'Customer' }, 'A tag is key=value, of lower-case letters, digits and _ . : -'],
    [{ usd: '5', level: 'tag', subject: 'customer=northwind' }, undefined],
    [{ usd: '5', timezone: '' }, 'Choose a time zone.'],
  ]
  for (const [draft, missing] of cases) assert.equal(missingOf({ ...NEW_BUDGET, ...draft }), missing)
})

test('a raise has an amount, an end to come and a reason', () => {
  const now = Date.parse('2026-11-22T12:00')
  const raise = { usd: '10', ends: '2026-11-23T12:00', reason: ' launch ' }
  assert.equal(missingOfRaise(raise, now), undefined)
  assert.equal(missingOfRaise({ ...raise, ends: '2026-11-22T12:00' }, now), 'Choose an end in the future.')
  assert.equal(missingOfRaise({ ...raise, reason: ' ' }, now), 'Enter a reason.')
  const ends = new Date(now + 86_400_000).toISOString()
  assert.deepEqual(raiseBody(raise), { usd: 10, ends_at: ends, reason: 'launch' })
})
