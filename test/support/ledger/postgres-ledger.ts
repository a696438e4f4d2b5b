/** A ledger on PostgreSQL, and what can go wrong between the two. */
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { DatabaseError, databaseUnavailable } from '../../../src/db/failure.ts'
import type { Postgres, PostgresClient, PostgresRows, PostgresValue } from '../../../src/db/postgres/client.ts'
import { dialect } from '../database.ts'

/** A test of what only PostgreSQL has; it is left out of the other pass. */
export const postgresTest: (name: string, body: (t: TestContext) => Promise<void>) => void =
  dialect === 'postgres' ? test : () => undefined

type Query = PostgresClient['query']

/**
 * Instead of statements: `query` asks the database itself.
 * @returns Undefined: the statement goes its way.
 */
export type Interference = (
  sql: string,
  query: Query,
  parameters: readonly PostgresValue[] | undefined,
) => Promise<PostgresRows<never>> | undefined

export interface Watched extends Pick<Postgres, 'transaction'> {
  /** How often a transaction was begun. */
  begun: number
}

export function watched(postgres: Postgres | undefined, interfere: Interference = () => undefined): Watched {
  if (postgres === undefined) throw new Error('This is not the pass of PostgreSQL.')
  const self: Watched = {
    begun: 0,
    transaction(work) {
      self.begun++
      return postgres.transaction((client) =>
        work({
          query: (sql, parameters) => interfere(sql, client.query, parameters) ?? client.query(sql, parameters),
        }),
      )
    },
  }
  return self
}

/** What a server says that has rolled a transaction back for its own reasons. */
export function rolledBack(sqlState: string): Error {
  return databaseUnavailable(new DatabaseError({ message: `SQLSTATE ${sqlState}`, resultCode: undefined }, sqlState))
}

export interface LossyLine {
  /** The URL of the same database, through the line. */
  readonly url: string
  /** The next commit arrives and is carried out, but its answer is lost with the connection. */
  loseNextCommit(): void
  /** How many answers were lost. */
  lost(): number
}

/** A network between a process and its server that can be made to fail at the worst moment. */
export async function lossyLine(t: TestContext, url: string): Promise<LossyLine> {
  const target = new URL(url)
  let isArmed = false
  let lost = 0
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    let isCommitting = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    near.on('data', (data) => {
      if (isArmed && data.includes('commit\0')) {
        isArmed = false
        isCommitting = true
      }
      far.write(data)
    })
    far.on('data', (data) => {
      if (!isCommitting) return void near.write(data)
      lost++
      near.destroy()
      far.destroy()
    })
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The line has no port.')
  const through = new URL(url)
  through.port = String(address.port)
  return {
    url: through.href,
    loseNextCommit() {
      isArmed = true
    },
    lost: () => lost,
  }
}
