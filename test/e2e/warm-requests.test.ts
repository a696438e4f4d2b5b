import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { OpenedDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { AccountId } from '../../src/domain/ids.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'
import { currentLocation, openLocation, testIds } from '../support/database.ts'

const REQUESTS = 50
/** What is counted by hour is written so much later, for all requests at once: the hours and the days. */
const COUNTS_WRITTEN_AFTER_MS = 2_000

interface Counts {
  /** Kinds of the queries that were made for it, outside of the ledger's batches. */
  readonly queries: string[]
  batches: number
}

interface Counted {
  readonly database: OpenedDatabase
  /** From here on what this server is asked is counted. */
  watch(server: Server): void
  count(work: () => Promise<void>): Promise<Counts>
}

/** What is asked of the database on behalf of requests, however far from them, and not by what runs beside them. */
function counted(database: OpenedDatabase): Counted {
  const request = new AsyncLocalStorage<Counts>()
  let counts: Counts = { queries: [], batches: 0 }
  const counting: KyselyPlugin = {
    transformQuery({ node }) {
      request.getStore()?.queries.push(node.kind)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    database: {
      ...database,
      db: database.db.withPlugin(counting),
      batch(statements) {
        const own = request.getStore()
        if (own !== undefined) own.batches += 1
        return database.batch(statements)
      },
    },
    watch(server) {
      const emit = server.emit.bind(server)
      server.emit = (event: string, ...words: unknown[]) =>
        event === 'request' ? request.run(counts, () => emit(event, ...words)) : emit(event, ...words)
    },
    async count(work) {
      counts = { queries: [], batches: 0 }
      await work()
      return counts
    },
  }
}

async function serve(t: TestContext) {
  // Folders go when the application has ended: what is registered first is done first.
  const removals: (() => unknown)[] = []
  const cwd = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  removals.push(() => rmSync(cwd, { recursive: true }))
  const builtIn = { builtInProviders: ['simulator'], providerVariables: {} }
  const config = await loadConfig({ env: {}, cwd, builtIn })
  const opened = await openLocation(
    await currentLocation({ after: (remove: () => unknown) => void removals.push(remove) }),
  )
  await migrate(opened.db, Date.now)
  const accountId = 'acc_1' as AccountId // ids are born here
  const account = { id: accountId, name: 'a', plan: 'unlimited', created_at: 1, changed_at: 1 }
  await opened.db.insertInto('account').values(account).execute()
  const born = { now: Date.now, ids: testIds }
  const { secret } = await createKey(opened.db, { accountId, name: 'k', ...FULL_ACCESS }, born)
  const { database, count, watch } = counted(opened)
  const log = pino({ level: 'silent' })
  const app = await createApp({ config, database, log, version: '1', secret: Buffer.alloc(32, 1) })
  t.after(async () => {
    app.server.server.closeAllConnections()
    await app.server.close()
    await app.close()
    await database.close()
    for (const remove of removals) await remove()
  })
  watch(app.server.server)
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  return {
    count,
    async chat(stream: boolean): Promise<void> {
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'turnpike-simulator', messages: [{ role: 'user', content: 'hi' }], stream }),
      })
      assert.equal(answer.status, 200, await answer.text())
    },
  }
}

test('R-F5: a warm request reads nothing from the database; it only writes its hold and its charge', async (t) => {
  const { count, chat } = await serve(t)
  const first = await count(() => chat(false))
  assert.ok(first.queries.includes('SelectQueryNode'), 'what counts would be seen: the key is looked up once')
  for (const stream of [false, true]) {
    const startedAt = performance.now()
    const { queries, batches } = await count(async () => {
      await Promise.all(Array.from({ length: REQUESTS }, () => chat(stream)))
    })
    const others = queries.filter((kind) => kind !== 'InsertQueryNode')
    assert.deepEqual({ others, batches }, { others: [], batches: 0 })
    const times = Math.floor((performance.now() - startedAt) / COUNTS_WRITTEN_AFTER_MS)
    assert.ok(queries.length <= 2 * times, `${queries.length} queries wrote for ${REQUESTS} requests`)
  }
})
