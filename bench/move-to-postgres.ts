/**
 * `node bench/move-to-postgres.ts [completions]`: measures the move of a large installation from SQLite to PostgreSQL, which
 * is killed halfway and run again.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { makeInstallation } from '../test/support/process/installation.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'

const completions = Number(process.argv[2] ?? 200_000)
const folder = mkdtempSync(join(tmpdir(), 'turnpike-move-'))
const server = await startPostgres()
const awake = setInterval(() => undefined, 60_000) // keeps the process alive until the server has ended
try {
  const path = join(folder, 'turnpike.db')
  await timed(`an installation with ${completions} completions`, () => makeInstallation(path, completions))
  console.log(`  ${(statSync(path).size / 1024 ** 2).toFixed(0)} MiB`)
  await timed('a move, killed when half of the completions were there', moveAndKill)
  console.log(`  ${await moved()} completions had been moved`)
  await timed('the move, run again', () => move().ended)
} finally {
  await server.stop()
  clearInterval(awake)
  rmSync(folder, { recursive: true, force: true })
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  await work()
  console.log(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

function move() {
  const command = join(import.meta.dirname, '..', 'bin', 'turnpike.js')
  const env = { PATH: '', TURNPIKE_DATA_DIR: folder }
  const words = [command, 'migrate-to-postgres', server.url]
  const child = spawn(process.execPath, words, { cwd: folder, env, stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`The move ended with ${code}.`))))
  })
  return { child, ended }
}

async function moveAndKill(): Promise<void> {
  const { child, ended } = move()
  while ((await moved()) < completions / 2) await sleep(20)
  child.kill('SIGKILL')
  await ended.catch(() => undefined)
}

async function moved(): Promise<number> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  try {
    const { rows } = await client.query("select moved from sqlite_move where table_name = 'completion'")
    return Number(rows[0]?.moved)
  } catch {
    return 0 // not yet begun
  } finally {
    await client.end()
  }
}
