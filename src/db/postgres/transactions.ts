/** Transactions of statements written by hand, and batches of statements that are ready. */
import type { BatchStatement } from '../open.ts'
import type { Postgres, PostgresClient, PostgresValue } from './client.ts'
import { isCollision, isConnectionLost } from './failures.ts'
import type { PostgresPool, PostgresSession } from './pool.ts'

/** How often a batch is tried that collides with others'. */
const MAX_ATTEMPTS = 4

export function createPostgres(pool: PostgresPool): Postgres {
  return {
    transaction: (work) => inTransaction(pool, work),
    query: <Row>(sql: string, parameters?: readonly PostgresValue[]) =>
      inSession(pool, (session) => session.query<Row>(sql, parameters)),
  }
}

/** Resolves when all are committed, in one transaction and one round trip; those that collide with others' go again. */
export async function runBatch(pool: PostgresPool, statements: readonly BatchStatement[]): Promise<void> {
  if (statements.length === 0) return
  for (let attempt = 1; ; attempt++) {
    try {
      return await inSession(pool, (session) => commitAll(session, statements))
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isCollision(error)) throw error
    }
  }
}

async function commitAll(session: PostgresSession, statements: readonly BatchStatement[]): Promise<void> {
  const begun = session.query('begin')
  const answers = statements.map(({ sql, parameters }) => session.query(sql, parameters as readonly PostgresValue[])) // as compiled
  // After a failed statement the server answers the commit with a rollback.
  const ends = await Promise.allSettled([begun, ...answers, session.commit()])
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

async function inTransaction<Result>(
  pool: PostgresPool,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const session = await pool.session()
  let isBroken = false
  try {
    const begun = session.query('begin')
    begun.catch(() => undefined) // then the first statement of the work fails too, and says so
    const result = await work(session)
    await begun
    await session.commit()
    return result
  } catch (error) {
    isBroken = !(await rollBack(session))
    throw error
  } finally {
    session.end(isBroken)
  }
}

async function rollBack(session: PostgresSession): Promise<boolean> {
  try {
    await session.query('rollback')
    return true
  } catch {
    return false
  }
}

async function inSession<Result>(
  pool: PostgresPool,
  work: (session: PostgresSession) => Promise<Result>,
): Promise<Result> {
  const session = await pool.session()
  let isBroken = false
  try {
    return await work(session)
  } catch (error) {
    isBroken = isConnectionLost(error)
    throw error
  } finally {
    session.end(isBroken)
  }
}
