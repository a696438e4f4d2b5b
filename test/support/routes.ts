/** The route table of the service, read from the composed application itself. */
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openLog } from '../../src/http/log.ts'
import { openPlace, temporaryPlace } from './database.ts'

export interface TableRow {
  readonly method: string
  /** With `:names` for parameters. */
  readonly path: string
}

/** @param folder Where the application may keep what it keeps. */
export async function routesOfTheService(test: TestContext, folder: string): Promise<readonly TableRow[]> {
  const env = { TURNPIKE_DATA_DIR: folder }
  const builtIn = { builtInProviders: [], providerVariables: {}, settingVariables: {} }
  const config = await loadConfig({ env, cwd: folder, builtIn })
  const database = await openPlace(await temporaryPlace(test))
  const { log } = await openLog({ level: 'silent', terminal: false })
  await migrate(database.db, Date.now)
  const app = await createApp({ config, database, log, version: '0.0.0', secret: new Uint8Array(32) })
  test.after(async () => {
    await app.server.close()
    await app.close()
    await database.close()
  })
  return rowsOf(app.server)
}

/** Fastify prints its table as a tree; with full paths on every line it is one route a line. */
function rowsOf(server: FastifyInstance): readonly TableRow[] {
  const rows: TableRow[] = []
  const prefixes: string[] = []
  for (const line of server.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent, part, methods] = /^((?:[│ ] {3})*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line) ?? []
    if (indent === undefined || part === undefined) continue
    prefixes.length = indent.length / 4
    const path = prefixes.join('') + part
    prefixes.push(part)
    for (const method of methods?.split(', ') ?? []) rows.push({ method, path })
  }
  return rows
}
