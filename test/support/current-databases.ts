/**
 * Databases with the current schema, copied from a template instead of migrated: a SQLite file is copied, a PostgreSQL
 * database made with `create database … template`. The template is made once per machine or server, for these migrations.
 */
import { hash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client, Pool } from 'pg'
import type { OpenOptions } from '../../src/db/database.ts'
import { MIGRATIONS, migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'

export interface TestDatabase {
  readonly url: string
  readonly drop: () => Promise<void>
}

const TEMPLATE = `turnpike_template_${hash('sha256', JSON.stringify(MIGRATIONS)).slice(0, 16)}`

/** Puts a database with the current schema at a path where there is none. */
export async function copyCurrentFile(path: string): Promise<void> {
  const template = join(tmpdir(), `${TEMPLATE}.db`)
  if (!existsSync(template)) await makeTemplateFile(template)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await copyFile(template, path)
}

/** Processes that do it at the same time replace each other's file by the same. */
async function makeTemplateFile(template: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-template-'))
  const path = join(folder, 'turnpike.db')
  await migrateAt({ path }) // when it is closed, the write-ahead log is folded into the file
  await rename(path, template)
  await rm(folder, { recursive: true })
}

async function migrateAt(place: OpenOptions): Promise<void> {
  const { db, close } = await openDatabase(place)
  await migrate(db, Date.now).finally(close)
}

/** @param server The URL of a user who may make databases. */
export async function createCurrentDatabase(server: string): Promise<TestDatabase> {
  await templateOf(server)
  const name = `test_${process.pid}_${randomBytes(8).toString('hex')}`
  // Copied as files: half the work of copying through the log.
  await onServer(server, `create database ${name} template ${TEMPLATE} strategy file_copy`)
  return {
    url: withDatabase(server, name),
    drop: () => onServer(server, `drop database if exists ${name} with (force)`),
  }
}

const templates = new Map<string, Promise<void>>()

function templateOf(server: string): Promise<void> {
  const made = templates.get(server) ?? makeTemplate(server)
  templates.set(server, made)
  return made
}

async function makeTemplate(server: string): Promise<void> {
  const client = new Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtextextended('turnpike template', 0))`) // released with the session
    const { rows } = await client.query('select 1 from pg_database where datname = $1', [TEMPLATE])
    if (rows.length > 0) return await dropOrphans(client)
    const unfinished = `${TEMPLATE}_unfinished`
    await client.query(`drop database if exists ${unfinished} with (force)`)
    await client.query(`create database ${unfinished}`)
    await migrateAt({ url: withDatabase(server, unfinished) })
    await client.query(`alter database ${unfinished} rename to ${TEMPLATE}`)
  } finally {
    await client.end()
  }
}

/** Databases of processes that have ended without dropping them. */
async function dropOrphans(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    String.raw`select datname as name from pg_database where datname ~ '^test_\d+_'`,
  )
  for (const { name } of rows) {
    if (!isRunning(Number(name.split('_')[1]))) await client.query(`drop database if exists ${name} with (force)`)
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** By the URL of the server, with one session: a connection costs the server more than most statements here. */
const pools = new Map<string, Pool>()

async function onServer(server: string, statement: string): Promise<void> {
  const pool =
    pools.get(server) ?? new Pool({ connectionString: server, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  if (!pools.has(server)) pool.on('error', () => undefined) // the next statement connects again
  pools.set(server, pool)
  await pool.query(statement)
}
