import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Kysely, KyselyPlugin } from 'kysely'
import { sqliteTest, temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { keyCaller } from '../../../test/support/identity/caller.ts'
import {
  completionIdAt,
  completionRecord,
  ensureAccounts,
  recordCompletions,
} from '../../../test/support/ledger/completions.ts'
import type { Database } from '../../db/schema/schema.ts'
import { agentReference } from '../../domain/agent.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import { callerOf, requireCaller } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { DAY_MS } from './period.ts'
import { usageRoutes } from './routes.ts'

const LIST = '/usage/completions'
const ACCOUNT = 'acc_a' as AccountId
const START = Date.UTC(2026, 4, 1)
const HEADER =
  'id,created_at,model,provider,status,stream,finish_reason,key_id,prompt_tokens,cached_tokens,cache_write_tokens,' +
  'completion_tokens,reasoning_tokens,cost_usd,usage_source,first_byte_ms,duration_ms,attempts,client_request_id,' +
  'unbilled_usd,api,request_id,tags,session_id,end_user'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  readonly ids: readonly string[]
}

async function serve(t: TestContext, db: Kysely<Database>): Promise<(url: string, accept?: string) => Promise<Answer>> {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: ['*'],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, () => keyCaller({ accountId: ACCOUNT, scopes: new Set(['usage:read'] as const) }))
  const credit = { read: () => assert.fail('nobody asked for the balance') }
  const now = () => START
  await app.register(usageRoutes({ db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1), credit }))
  return async (url, accept) => {
    const headers = { authorization: 'key', origin: 'https://app.example.com', ...(accept !== undefined && { accept }) }
    const answer = await app.inject({ url, headers })
    const ids = [...answer.body.matchAll(/^chatcmpl-\w+/gm)].map(([id]) => id)
    return { status: answer.statusCode, headers: answer.headers, text: answer.body, ids }
  }
}

test('a file has a row for each completion, exact, and harmless to spreadsheets', async (t) => {
  const database = await temporaryDatabase(t)
  const whole = completionRecord({
    ...{ model: '=cmd|"x"', provider: '+p', clientRequestId: '@SUM(A1,A2)', stream: true, finishReason: 'tool_calls' },
    ...{ cachedTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1, costNanoUsd: 9_007_199_254_740_993n },
    ...{ usageSource: 'estimated', status: 'client_left', attempts: 2, firstByteMs: 3.6, api: 'messages' },
    ...{ attribution: { tags: ['-x=1', 'a=b'], session: '-1', endUser: 'f0' }, requestId: 'req_1' },
  })
  const bare = completionRecord({ status: 'failed', finishReason: undefined, costNanoUsd: 0n, createdAt: START })
  const ofAgent = completionRecord({
    createdAt: START - 1,
    clientRequestId: agentReference(testIds.agent(), testIds.run()),
  })
  const others = completionRecord({ accountId: 'acc_b' as AccountId })
  await recordCompletions(database, [whole, bare, ofAgent, others])
  const get = await serve(t, database.db)
  const rows = [
    HEADER,
    `${whole.id},2026-05-05T12:00:00.000Z,"'=cmd|""x""",'+p,client_left,true,tool_calls,key_a,10,3,2,5,1,9007199.254740993,estimated,4,12,2,"'@SUM(A1,A2)",0,messages,req_1,"'-x=1,a=b",'-1,f0`,
    `${bare.id},2026-05-01T00:00:00.000Z,m1,p,failed,false,,key_a,10,0,0,5,0,0,provider,,12,1,,0,chat_completions,,,,`,
    `${ofAgent.id},2026-04-30T23:59:59.999Z,m1,p,completed,false,stop,key_a,10,0,0,5,0,0.0000015,provider,,12,1,,0,chat_completions,,,,`,
  ]
  const { status, headers, text } = await get(`${LIST}?format=csv&include=overview`)
  assert.deepEqual([status, text], [200, rows.map((row) => `${row}\r\n`).join('')])
  assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
  assert.equal(headers['content-disposition'], 'attachment; filename="turnpike-requests.csv"')
  assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
  assert.equal(headers['x-next-cursor'], undefined)
})

test('a file is made where CSV is asked for, by name or by Accept, and is called after its period', async (t) => {
  const { db } = await temporaryDatabase(t)
  const get = await serve(t, db)
  const period = 'period_start=2026-05-01&period_end=2026-05-08T12:00:00Z'
  const cases = [
    ['', undefined, 'json'],
    ['', '*/*', 'json'],
    ['', 'application/json, text/csv', 'json'],
    ['', 'text/csv', 'csv'],
    ['', 'text/csv, application/json;q=0.9', 'csv'],
    ['&format=json', 'text/csv', 'json'],
    ['&format=csv', 'application/json', 'csv'],
  ] as const
  for (const [format, accept, expected] of cases) {
    const { headers, text } = await get(`${LIST}?${period}${format}`, accept)
    assert.match(
      String(headers['content-type']),
      expected === 'csv' ? /^text\/csv/ : /^application\/json/,
      `${format} ${accept}`,
    )
    if (expected === 'json') continue
    assert.equal(text, `${HEADER}\r\n`)
    const name = 'turnpike-requests-2026-05-01-2026-05-08.csv'
    assert.equal(headers['content-disposition'], `attachment; filename="${name}"`)
  }
  for (const wrong of ['format=xml', 'format=csv&limit=0', 'format=csv&status=ok', 'format=csv&provider=p']) {
    assert.equal((await get(`${LIST}?${wrong}`)).status, 400, wrong)
  }
})

test('a file has what the list has, by the same filters, order and cursors', async (t) => {
  const database = await temporaryDatabase(t)
  const agentId = testIds.agent()
  const records = Array.from({ length: 24 }, (_, index) =>
    completionRecord({
      createdAt: START + (index % 6) * DAY_MS + index,
      model: `m${index % 2}`,
      provider: index % 3 === 0 ? 'p' : 'q',
      keyId: `key_${index % 4}` as KeyId,
      status: index % 5 === 0 ? 'failed' : 'completed',
      clientRequestId: index % 7 === 0 ? agentReference(agentId, testIds.run()) : `name-${index % 2}`,
    }),
  )
  await recordCompletions(database, records)
  const get = await serve(t, database.db)
  const listed = async (query: string) => {
    const { data, next_cursor: cursor } = JSON.parse((await get(`${LIST}?${query}`)).text)
    return { ids: data.map(({ id }: { readonly id: string }) => id), cursor: cursor ?? undefined }
  }
  const period = 'period_start=2026-05-02&period_end=2026-05-06'
  const filters = ['model=m1', 'key_id=key_1', 'status=failed', 'status=completed', `agent_id=${agentId}`]
  for (const filter of ['', ...filters, 'provider=p', 'client_request_id=name-1', 'model=m0&status=completed']) {
    for (const order of ['asc', 'desc']) {
      const query = `${period}&${filter}&order=${order}&limit=2`
      const first = await listed(query)
      const file = await get(`${LIST}?format=csv&${query}`)
      assert.deepEqual({ ids: file.ids, cursor: file.headers['x-next-cursor'] }, first, query)
      if (first.cursor === undefined) continue
      const rest = await get(`${LIST}?format=csv&${query}&cursor=${first.cursor}`)
      assert.deepEqual(rest.ids, (await listed(`${query}&cursor=${first.cursor}`)).ids, query)
    }
  }
  assert.match(String((await get(LIST)).headers['access-control-expose-headers']), /\bx-next-cursor\b/)
})

sqliteTest(
  'a file has at most 10 000 rows, is read 1 000 at a time, and goes on behind them [limit: completion-file]',
  async (t) => {
    const database = await temporaryDatabase(t)
    await ensureAccounts(database, [ACCOUNT])
    await recordCompletions(database, [completionRecord({ createdAt: START })])
    const { db } = database
    const template = await db.selectFrom('completion').selectAll().executeTakeFirstOrThrow()
    for (let from = 1; from <= 10_000; from += 500) {
      const rows = Array.from({ length: 500 }, (_, index) => {
        const created_at = START + from + index
        return { ...template, id: completionIdAt(created_at), created_at }
      })
      await db.insertInto('completion').values(rows).execute()
    }
    let [mostRead, reading, mostAtOnce] = [0, 0, 0]
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => {
        reading++
        mostAtOnce = Math.max(mostAtOnce, reading)
        return node
      },
      transformResult: async ({ result }) => {
        reading--
        mostRead = Math.max(mostRead, result.rows.length)
        return result
      },
    }
    const get = await serve(t, db.withPlugin(counting))
    const first = await get(`${LIST}?format=csv`)
    assert.deepEqual([first.ids.length, new Set(first.ids).size, mostRead], [10_000, 10_000, 1_000])
    const several = await Promise.all([1, 2, 3].map(() => get(`${LIST}?format=csv&limit=3000`)))
    assert.deepEqual([several.map(({ ids }) => ids.length), mostAtOnce], [[3_000, 3_000, 3_000], 1]) // one by one
    const cursor = String(first.headers['x-next-cursor'])
    const rest = await get(`${LIST}?format=csv&cursor=${cursor}`)
    assert.deepEqual([rest.ids, rest.headers['x-next-cursor']], [[template.id], undefined])
    assert.equal((await get(`${LIST}?format=csv&limit=10001`)).status, 400)
    assert.equal((await get(`${LIST}?limit=10000`)).status, 400)
  },
)
