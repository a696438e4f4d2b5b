/** Reads the budgets of a batch in one more round trip, if its accounts have any, and writes their windows. */
import type { PostgresClient } from '../../../../db/postgres/client.ts'
import { type BudgetSubject, subjectName } from '../../../../domain/budget.ts'
import type { AccountId, BudgetId, KeyId, UserId } from '../../../../domain/ids.ts'
import type { NanoUsd } from '../../../../domain/money.ts'
import type { KeyRef, LoadedAccount } from '../apply-batch.ts'
import type { BudgetReads, KeyOwner, KnownBudget, KnownWindow, LoadedWindow, OwnedWindow } from '../batch-budgets.ts'
import { type BudgetRow, budgetColumns, knownBudget, text, whole } from '../rows.ts'
import type { WindowState } from '../state.ts'
import { nameOf } from './memory.ts'
import { insertion, listsOf, type RowsStatement, rowsOf, send } from './statement.ts'

/** The subjects of a batch's units. */
export interface CountedUnit extends KeyRef {
  readonly ancestors: readonly KeyId[]
  readonly subjects: readonly BudgetSubject[]
}

interface SubjectRef {
  readonly accountId: AccountId
  readonly subject: BudgetSubject
}

/** Rows of budgets that a batch may need. */
export interface BudgetFacts {
  /** By `nameOf` account and key. */
  readonly owners: ReadonlyMap<string, KeyOwner>
  /** By `nameOf` account and subject. */
  readonly bySubject: ReadonlyMap<string, readonly KnownBudget[]>
  /** By `nameOf` account and budget. */
  readonly budgets: ReadonlyMap<string, KnownBudget>
  readonly latest: ReadonlyMap<string, KnownWindow>
  /** By `nameOf` account and window. */
  readonly windows: ReadonlyMap<string, WindowState>
}

const NONE: BudgetFacts = {
  owners: new Map(),
  bySubject: new Map(),
  budgets: new Map(),
  latest: new Map(),
  windows: new Map(),
}

const KEY_COLUMNS = [text<KeyRef>('account_id', (ref) => ref.accountId), text<KeyRef>('key_id', (ref) => ref.keyId)]

const OWNERS = `select asked.account_id, asked.key_id, coalesce(api_key.created_by, device.user_id, member.user_id) as user_id
from ${rowsOf(KEY_COLUMNS, 'asked')}
left join api_key on api_key.account_id = asked.account_id and api_key.id = asked.key_id
left join device on device.account_id = asked.account_id and device.id = asked.key_id
left join member on member.account_id = asked.account_id and member.user_id = asked.key_id`

const READ_OWNERS: RowsStatement<KeyRef> = { columns: KEY_COLUMNS, sql: OWNERS }

interface OwnerRow {
  readonly account_id: AccountId
  readonly key_id: KeyId
  readonly user_id: UserId | null
}

const SUBJECT_COLUMNS = [
  text<SubjectRef>('account_id', (ref) => ref.accountId),
  text<SubjectRef>('level', (ref) => ref.subject.level),
  text<SubjectRef>('subject', (ref) => ref.subject.id),
]

const LATEST = `left join lateral (select budget_window.starts_at, spent_nano_usd, held_nano_usd from budget_window
  where budget_window.account_id = budget.account_id and budget_window.budget_id = budget.id
  order by budget_window.starts_at desc limit 1) as latest on true`

/** Reads the budgets of the subjects, and of the users who own the keys. */
const READ_BUDGETS = `select budget.account_id, budget.subject, ${budgetColumns('$6')},
  latest.starts_at as window_start, latest.spent_nano_usd, latest.held_nano_usd
from (
  select account_id, level, subject from ${rowsOf(SUBJECT_COLUMNS, 'named')}
  union all
  select account_id, 'member', user_id from (${OWNERS.replace('$1', '$4').replace('$2', '$5')}) as owner
) as asked
join budget on budget.account_id = asked.account_id and budget.level = asked.level and budget.subject = asked.subject
${LATEST}
where budget.ended_at is null order by budget.id`

interface SubjectBudgetRow extends BudgetRow {
  readonly account_id: AccountId
  readonly subject: string
  readonly window_start: number | null
  readonly spent_nano_usd: NanoUsd
  readonly held_nano_usd: NanoUsd
}

const WINDOW_COLUMNS = [
  text<OwnedWindow>('account_id', (ref) => ref.accountId),
  text<OwnedWindow>('budget_id', (ref) => ref.budgetId),
  whole<OwnedWindow>('starts_at', (ref) => ref.start),
]

const READ_WINDOWS = `select budget.account_id, ${budgetColumns('$4')}, asked.starts_at as window_start,
  spent_nano_usd, held_nano_usd
from ${rowsOf(WINDOW_COLUMNS, 'asked')}
join budget on budget.account_id = asked.account_id and budget.id = asked.budget_id
left join budget_window on budget_window.account_id = asked.account_id
  and budget_window.budget_id = asked.budget_id and budget_window.starts_at = asked.starts_at`

interface WindowRow extends BudgetRow {
  readonly account_id: AccountId
  readonly window_start: number
  /** Null, as what is held: it has no row. */
  readonly spent_nano_usd: NanoUsd | null
  readonly held_nano_usd: NanoUsd | null
}

export interface BudgetQuery {
  readonly counted: readonly CountedUnit[]
  readonly windows: readonly OwnedWindow[]
  readonly now: number
}

/** Every statement follows the lock of the accounts. */
export async function readBudgetFacts(client: PostgresClient, query: BudgetQuery): Promise<BudgetFacts> {
  const { counted, windows, now } = query
  if (counted.length === 0 && windows.length === 0) return NONE
  const keys = uniqueKeys(counted)
  const [owners, budgets, held] = await Promise.all([
    send<KeyRef, OwnerRow>(client, READ_OWNERS, keys),
    client.query<SubjectBudgetRow>(READ_BUDGETS, [
      ...listsOf(SUBJECT_COLUMNS, subjectsOf(counted)),
      ...listsOf(KEY_COLUMNS, keys),
      now,
    ]),
    client.query<WindowRow>(READ_WINDOWS, [...listsOf(WINDOW_COLUMNS, windows), now]),
  ])
  return {
    owners: new Map(owners.rows.map((row) => [nameOf(row.account_id, row.key_id), ownerOf(row)])),
    ...factsOf(budgets.rows, held.rows),
  }
}

function ownerOf({ user_id: userId }: OwnerRow): KeyOwner {
  return { userId: userId ?? undefined }
}

function factsOf(budgetRows: readonly SubjectBudgetRow[], windowRows: readonly WindowRow[]) {
  const bySubject = new Map<string, KnownBudget[]>()
  const budgets = new Map<string, KnownBudget>()
  const latest = new Map<string, KnownWindow>()
  const windows = new Map<string, WindowState>()
  for (const row of budgetRows) {
    const name = nameOf(row.account_id, row.id)
    if (budgets.has(name)) continue
    const budget = knownBudget(row)
    budgets.set(name, budget)
    const subject = nameOf(row.account_id, subjectName({ level: row.level, id: row.subject }))
    bySubject.set(subject, [...(bySubject.get(subject) ?? []), budget])
    const { window_start: start, spent_nano_usd: spent, held_nano_usd: held } = row
    if (start !== null) latest.set(name, { start, spent, held })
  }
  for (const row of windowRows) {
    const { spent_nano_usd: spent, held_nano_usd: held } = row
    budgets.set(nameOf(row.account_id, row.id), knownBudget(row))
    if (spent === null || held === null) continue
    windows.set(nameOf(row.account_id, windowKey(row.id, row.window_start)), { spent, held })
  }
  return { bySubject, budgets, latest, windows }
}

function windowKey(budgetId: BudgetId, start: number): string {
  return `${budgetId}@${start}`
}

function uniqueKeys(counted: readonly CountedUnit[]): readonly KeyRef[] {
  return [...new Map(counted.map((unit) => [nameOf(unit.accountId, unit.keyId), unit])).values()]
}

/** Without users, which the statement itself finds. */
function subjectsOf(counted: readonly CountedUnit[]): readonly SubjectRef[] {
  const refs = new Map<string, SubjectRef>()
  const add = (accountId: AccountId, subject: BudgetSubject) =>
    refs.set(nameOf(accountId, subjectName(subject)), { accountId, subject })
  for (const { accountId, keyId, ancestors, subjects } of counted) {
    add(accountId, { level: 'account', id: accountId })
    for (const id of [keyId, ...ancestors]) add(accountId, { level: 'key', id })
    for (const subject of subjects) add(accountId, subject)
  }
  return [...refs.values()]
}

/** Reads from the loaded rows; a row that is not loaded does not exist. */
export function budgetReadsOf({ owners, bySubject, budgets, latest, windows }: BudgetFacts): BudgetReads {
  return {
    keyOwner: (accountId, keyId) => owners.get(nameOf(accountId, keyId)) ?? NO_OWNER,
    budgetsOf: (accountId, subject) => bySubject.get(nameOf(accountId, subjectName(subject))) ?? [],
    budget: ({ accountId, budgetId }) => budgets.get(nameOf(accountId, budgetId)),
    latestWindow: ({ accountId, budgetId }) => latest.get(nameOf(accountId, budgetId)),
    window: ({ accountId, budgetId, start }) => windows.get(nameOf(accountId, windowKey(budgetId, start))),
  }
}

const NO_OWNER: KeyOwner = { userId: undefined }

export interface MovedWindow {
  readonly accountId: AccountId
  readonly window: LoadedWindow
}

/** Returns the windows to insert and to update. A window without holds needs no row. */
export function movedWindows(accounts: Iterable<LoadedAccount>) {
  const created: MovedWindow[] = []
  const moved: MovedWindow[] = []
  for (const { id: accountId, budgets } of accounts) {
    for (const window of budgets?.windows.values() ?? []) {
      const { read, state } = window
      if (read !== undefined && state !== read) moved.push({ accountId, window })
      if (read === undefined && (state.spent !== 0n || state.held !== 0n)) created.push({ accountId, window })
    }
  }
  return { created, moved }
}

const MOVED_COLUMNS = [
  text<MovedWindow>('account_id', ({ accountId }) => accountId),
  text<MovedWindow>('budget_id', ({ window }) => window.ref.budgetId),
  whole<MovedWindow>('starts_at', ({ window }) => window.ref.start),
  whole<MovedWindow>('spent_nano_usd', ({ window }) => window.state.spent),
  whole<MovedWindow>('held_nano_usd', ({ window }) => window.state.held),
]

export const CREATE_WINDOWS = insertion({
  table: 'budget_window',
  columns: MOVED_COLUMNS,
  rest: 'on conflict do nothing',
})

const CHANGED_COLUMNS = [
  ...MOVED_COLUMNS,
  whole<MovedWindow>('spent_read', ({ window }) => window.read?.spent),
  whole<MovedWindow>('held_read', ({ window }) => window.read?.held),
]

export const UPDATE_WINDOWS_IF_UNCHANGED: RowsStatement<MovedWindow> = {
  columns: CHANGED_COLUMNS,
  sql: `update budget_window set spent_nano_usd = moved.spent_nano_usd, held_nano_usd = moved.held_nano_usd
from ${rowsOf(CHANGED_COLUMNS, 'moved')}
where budget_window.account_id = moved.account_id and budget_window.budget_id = moved.budget_id
  and budget_window.starts_at = moved.starts_at
  and budget_window.spent_nano_usd = moved.spent_read and budget_window.held_nano_usd = moved.held_read`,
}
