import { sql, type Transaction } from 'kysely'
import type { Database } from './schema.ts'

/**
 * For transactions that decide by what they read: those that take the turn of the same name follow one another, each on
 * what the one before has written. To be called first. SQLite's transactions follow one another anyway.
 */
export async function takeTurn(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select turnpike_turn(${name})`.execute(transaction)
}
