/** A program for tests of the database itself: says what it is asked to, in one transaction. */
import type { ProgramConnection } from '../../../src/db/sqlite/connection.ts'

export interface Order {
  /** Accounts to add, in order. */
  readonly add?: readonly string[]
  /** Added in a part that is taken back. */
  readonly addAndTakeBack?: string
  readonly thenThrow?: string
  readonly leaveOpen?: boolean
  readonly read?: { readonly sql: string; readonly one: boolean }
}

const INSERT = 'insert into account (id, name, plan, created_at, changed_at) values (?, ?, ?, 1, 1)'

export function run(connection: ProgramConnection, payload: unknown): unknown {
  const { add = [], addAndTakeBack, thenThrow, leaveOpen, read } = payload as Order
  connection.begin()
  let changes = 0
  for (const name of add) changes += connection.prepare(INSERT).run(`acc_${name}`, name, 'free')
  if (addAndTakeBack !== undefined) {
    connection.savepoint()
    connection.prepare(INSERT).run(`acc_${addAndTakeBack}`, addAndTakeBack, 'free')
    connection.rollbackToSavepoint()
  }
  if (thenThrow !== undefined) throw new Error(thenThrow)
  if (leaveOpen === true) return changes
  connection.commit()
  if (read === undefined) return changes
  const statement = connection.prepare<object>(read.sql)
  return read.one ? statement.get() : statement.all()
}
