import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { sqliteTest, temporaryDatabase } from '../../../test/support/database.ts'
import { blockOf } from '../../../test/support/http/reader.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { pythonWith } from '../../../test/support/process/python-environment.ts'
import { verifySignature } from '../../../test/support/providers/sigv4.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId, KeyId, TeamId } from '../../domain/ids.ts'
import { createAwsSigner } from '../../providers/bedrock.ts'
import { createLedgerStore } from '../credit/ledger/store.ts'
import { EXPORT_COLUMNS } from './completion-file.ts'
import { createExports, EXPORTED_AFTER_MS, type ExportSettings, MAX_FILE_ROWS } from './jobs.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..', '..')
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Half an hour before a midnight (UTC), some days ago. */
const AT = Math.floor(Date.now() / DAY) * DAY - 3 * DAY - HOUR / 2
const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-exports-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** An export with small pages and files, whose runs are those of its job. */
function exportTo({ db }: OpenedDatabase, settings: Partial<ExportSettings> & { readonly url: string }) {
  const { jobs, status } = createExports({
    db,
    exports: [{ name: 'lake', every_minutes: 15, ...settings }],
    sign: createAwsSigner(),
    kindOf: (model) => (model === 'm3' ? 'embedding' : 'chat'),
    limits: { fileRows: 25, pageRows: 10 },
  })
  const job = { id: 'job_1', kind: 'exports.lake', name: 'schedule', payload: null, attempt: 1, createdAt: 1 }
  const context = { signal: new AbortController().signal, stillMine: async () => true }
  return { status, run: async () => void (await jobs['exports.lake']?.handler(job, context)) }
}

/** As if the export had been configured long ago. */
async function age({ db }: OpenedDatabase): Promise<void> {
  await db
    .updateTable('analytics_export')
    .set(({ eb }) => ({ begun_at: eb('begun_at', '-', EXPORTED_AFTER_MS) }))
    .execute()
}

function record(at: number, over: Partial<CompletionRecord> = {}): CompletionRecord {
  return completionRecord({
    createdAt: AT + at * 60_000,
    accountId: `acc_${at % 3}` as AccountId,
    keyId: (at % 2 === 0 ? 'usr_ada' : 'key_b') as KeyId,
    model: `m${at % 4}`,
    teamId: at % 5 === 0 ? ('team_1' as TeamId) : undefined,
    costNanoUsd: 123_456_789_012_345n + BigInt(at),
    attribution: {
      tags: at % 2 === 0 ? ['customer=acme "1"', 'env=prod'] : [],
      session: undefined,
      endUser: undefined,
    },
    ...over,
  })
}

interface Current {
  readonly model: string
  readonly usd: string
  readonly rows: number
}

const CURRENT = `with all_rows as (select * from read_parquet('{}/completions/*/*.parquet', hive_partitioning = true)),
current as (select * from all_rows qualify row_number() over (partition by id order by version desc) = 1)`
const SCRIPT = `import duckdb, json, sys
rows = duckdb.sql(sys.argv[1]).fetchall()
print(json.dumps(rows, default=str))`

/** Rows as DuckDB reads them from the files below a folder, `{}` in the query. */
function query<Row>(folder: string, sql: string): Promise<readonly Row[]> {
  return queried(`${CURRENT} ${sql}`.replaceAll('{}', folder))
}

/** Rows of the last statement. */
async function queried<Row>(sql: string): Promise<readonly Row[]> {
  const python = await pythonWith(['duckdb==2.0.1'])
  const { stdout } = await run(python, ['-c', SCRIPT, sql])
  return JSON.parse(stdout) as Row[]
}

async function costsOf(folder: string): Promise<readonly Current[]> {
  const sql = 'select model, sum(cost_usd)::varchar, count(*) from current group by model order by model'
  const rows = await query<[string, string, number]>(folder, sql)
  return rows.map(([model, usd, count]) => ({ model, usd, rows: count }))
}

/** The same, of the ledger: charges and corrections of a completion count for its model. */
async function costsOfLedger({ db }: OpenedDatabase): Promise<readonly Current[]> {
  const rows = await db
    .selectFrom('ledger')
    .innerJoin('completion', (join) =>
      join.onRef('completion.id', '=', 'ledger.completion_id').onRef('completion.account_id', '=', 'ledger.account_id'),
    )
    .select(['completion.model', 'completion.id', 'ledger.kind', 'ledger.amount_nano_usd'])
    .execute()
  const models = [...new Set(rows.map(({ model }) => model))].toSorted()
  return models.map((model) => {
    const own = rows.filter((row) => row.model === model)
    const nano = own.reduce(
      (sum, row) => sum + (row.kind === 'charge' ? row.amount_nano_usd : -row.amount_nano_usd),
      0n,
    )
    const usd = `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`
    return { model, usd, rows: new Set(own.map(({ id }) => id)).size }
  })
}

/** S3 by its documentation: takes objects whose requests are signed over these very bytes. */
async function startStorage(t: TestContext) {
  const objects = new Map<string, Buffer>()
  const puts: string[] = []
  let mode: 'well' | 'unavailable' | 'cut' = 'well'
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const { method = '', url = '', headers } = request
    if (mode === 'unavailable') {
      response.writeHead(503).end('<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>')
      return
    }
    try {
      assert.equal(method, 'PUT')
      const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      assert.equal(headers['x-amz-content-sha256'], createHash('sha256').update(body).digest('hex'))
      verifySignature({ method, path: url, headers: flat, body }, { ...KEY, region: 'auto', service: 's3' })
    } catch (error) {
      response.writeHead(403).end(`<Error><Code>SignatureDoesNotMatch</Code>${String(error)}</Error>`)
      return
    }
    puts.push(url)
    objects.set(decodeURIComponent(url), body)
    if (mode === 'cut') request.socket.destroy()
    else response.writeHead(200).end()
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return {
    objects,
    puts,
    become: (next: typeof mode) => {
      mode = next
    },
    settings: {
      url: 's3://lake/turnpike data',
      endpoint: `http://127.0.0.1:${address.port}`,
      region: 'auto',
      access_key_id: KEY.accessKeyId,
      secret_access_key: KEY.secretAccessKey,
    },
    /** Writes the objects to a folder, for DuckDB. */
    async download(): Promise<string> {
      const folder = await temporaryFolder(t)
      for (const [name, bytes] of objects) {
        const path = join(folder, name)
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, bytes)
      }
      return join(folder, 'lake', 'turnpike data')
    },
  }
}

test('files of a folder have the sums of the ledger by model to the nano-dollar, in days of UTC [limit: export-file]', async (t) => {
  const database = await temporaryDatabase(t)
  const folder = await temporaryFolder(t)
  const records = Array.from({ length: 150 }, (_, at) => record(at))
  const young = record(0, { model: 'young', createdAt: Date.now() })
  const free = record(7, { model: 'free', costNanoUsd: 0n })
  await recordCompletions(database, [...records, free, young])
  const { run: export_, status } = exportTo(database, { url: pathToFileURL(folder).href })
  await export_()
  assert.equal((await readdir(folder)).length, 0, 'an export begins when transactions before it have ended')
  await age(database)
  await export_()
  const { rows, exportedUntil, failures } = status()[0] ?? assert.fail()
  assert.deepEqual([rows, failures], [151, 0])
  assert.ok((exportedUntil ?? 0) < young.createdAt, 'what is younger than the lag is not exported')
  const [freeSum, ...sums] = await costsOf(folder)
  assert.deepEqual(freeSum, { model: 'free', usd: '0.000000000', rows: 1 })
  assert.deepEqual(sums, (await costsOfLedger(database)).slice(0, -1))
  const files = await query<[string, number, string, string]>(
    folder,
    `select filename, count(*), min(created_at)::date::varchar, max(created_at)::date::varchar
     from read_parquet('{}/completions/*/*.parquet', filename = true) group by filename`,
  )
  assert.ok(files.length >= 6)
  for (const [name, count, first, last] of files) {
    assert.ok(count <= 25 && count <= MAX_FILE_ROWS)
    assert.deepEqual([first, last], [name.match(/day=([\d-]+)/)?.[1], name.match(/day=([\d-]+)/)?.[1]])
  }
  const [one] = await query<string[]>(
    folder,
    `select account_id, team_id, member_id, key_id, kind, api, status, usage_source, tags->>'$.customer', cost_usd::varchar,
       provider_cost_usd::varchar, epoch_ms(created_at)::varchar, prompt_tokens::varchar, stream::varchar, first_byte_ms, duration_ms::varchar
     from current where id = '${records[10]?.id}'`,
  )
  const [, ...statements] = blockOf('docs/exports.md', 'CREATE SECRET').text.split(/;\n+/)
  const byCustomer = await queried<readonly [string | null, string]>(
    statements.join(';\n').replaceAll('s3://example-analytics/turnpike', folder).replace('2026-11-01', '2000-01-01'),
  )
  const read = new Set(byCustomer.map(([customer, model]) => `${model}: ${customer}`))
  assert.deepEqual(read, new Set(['m0: acme "1"', 'm1: null', 'm2: acme "1"', 'm3: null', 'free: null']))
  assert.deepEqual(one, [
    ...['acc_1', 'team_1', 'usr_ada', 'usr_ada', 'chat', 'chat_completions', 'completed', 'provider', 'acme "1"'],
    ...['123456.789012355', '123456.789012355', String(AT + 600_000), '10', 'false', null, '12'],
  ])
})

test('a file whose upload was the last thing before a crash is written again in its place', async (t) => {
  const database = await temporaryDatabase(t)
  const storage = await startStorage(t)
  await recordCompletions(
    database,
    Array.from({ length: 60 }, (_, at) => record(at)),
  )
  const { run: export_, status } = exportTo(database, storage.settings)
  await export_()
  await age(database)
  storage.become('cut')
  await assert.rejects(export_())
  assert.equal(storage.objects.size, 1, 'the object is there, its progress is not')
  const [first] = storage.puts
  storage.become('well')
  await export_()
  assert.equal(storage.puts[1], first)
  assert.equal(storage.objects.size, storage.puts.length - 1)
  assert.equal(status()[0]?.failures, 1)
  assert.deepEqual(await costsOf(await storage.download()), await costsOfLedger(database))
  await export_()
  assert.equal(storage.objects.size, storage.puts.length - 1, 'nothing is exported twice')
})

test('a storage that is unavailable loses nothing, and the reason is stored until it is back', async (t) => {
  const database = await temporaryDatabase(t)
  const storage = await startStorage(t)
  await recordCompletions(database, [record(1), record(2)])
  const { run: export_, status } = exportTo(database, storage.settings)
  await export_()
  await age(database)
  storage.become('unavailable')
  await assert.rejects(export_(), { message: 'The storage answered 503 (SlowDown).' })
  const failure = () => database.db.selectFrom('analytics_export').select('failure').executeTakeFirstOrThrow()
  assert.deepEqual(await failure(), { failure: 'The storage answered 503 (SlowDown).' })
  await recordCompletions(database, [record(3)])
  storage.become('well')
  await export_()
  assert.deepEqual(await failure(), { failure: null })
  assert.equal(status()[0]?.failures, 1)
  assert.deepEqual(await costsOf(await storage.download()), await costsOfLedger(database))
})

test('completions that come or are corrected behind the export follow with a higher version', async (t) => {
  const database = await temporaryDatabase(t)
  const folder = await temporaryFolder(t)
  const estimates = Array.from({ length: 30 }, (_, at) =>
    record(at, { status: 'incomplete', usageSource: 'estimated' }),
  )
  await recordCompletions(database, estimates)
  const { run: export_ } = exportTo(database, { url: pathToFileURL(folder).href })
  await export_()
  await age(database)
  await export_()
  const marks = () => database.db.selectFrom('analytics_export_late').select(['id', 'marks']).execute()
  assert.deepEqual(await marks(), [])
  const exact = estimates.slice(20).map(
    (row, at): CompletionRecord => ({
      ...{ ...row, status: 'completed', usageSource: 'provider' },
      costNanoUsd: BigInt(1_000 + at),
    }),
  )
  const late = Array.from({ length: 15 }, (_, at) => record(at * 3, { createdAt: AT - HOUR + at * 10 * 60_000 }))
  await recordCompletions(database, [...exact, ...late])
  assert.equal((await marks()).length, 25)
  await export_()
  assert.deepEqual(await marks(), [])
  assert.deepEqual(await costsOf(folder), await costsOfLedger(database))
  const versions = await query<[string, number]>(
    folder,
    'select id, count(distinct version) from all_rows group by id having count(distinct version) > 1 order by id',
  )
  assert.deepEqual(
    versions,
    exact.map(({ id }) => [id, 2] as const),
  )
})

sqliteTest(
  'a completion that the ledger dates by its own time, behind the clock of the machine, is marked',
  async (t) => {
    const database = await temporaryDatabase(t)
    await recordCompletions(database, [record(1)])
    await exportTo(database, { url: pathToFileURL(await temporaryFolder(t)).href }).run()
    const suspended = record(1, { createdAt: Date.now() - HOUR })
    const terms = { billing: 'postpaid', monthlyCreditNanoUsd: 0n } as const
    const unit = { kind: 'settle', record: suspended, terms, unrecorded: true, kept: undefined } as const
    await createLedgerStore(database).commit({ units: [unit], now: suspended.createdAt })
    const marks = await database.db.selectFrom('analytics_export_late').select('id').execute()
    assert.deepEqual(marks, [{ id: suspended.id }])
  },
)

test('docs/exports.md describes every column', async () => {
  const page = await readFile(join(ROOT, 'docs', 'exports.md'), 'utf8')
  const described = [...page.matchAll(/^\| `(\w+)` \| (VARCHAR|BIGINT|TIMESTAMP|DECIMAL\(18, 9\)|BOOLEAN) \|/gm)]
  const TYPES = { text: 'VARCHAR', whole: 'BIGINT', time: 'TIMESTAMP', usd: 'DECIMAL(18, 9)', flag: 'BOOLEAN' }
  assert.deepEqual(
    described.map(([, name, type]) => [name, type]),
    Object.entries(EXPORT_COLUMNS).map(([name, { type }]) => [name, TYPES[type]]),
  )
})
