/** The route table of the service, told by the composed application itself while it is put together. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { createApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { migrate } from '../../../src/db/migrate.ts'
import type { Right } from '../../../src/domain/identity/caller.ts'
import { isRecord } from '../../../src/lib/json.ts'
import { openLog } from '../../../src/telemetry/log.ts'
import { currentLocation, openLocation } from '../database.ts'

export interface TableRow {
  readonly method: string
  /** With `:names` for parameters. */
  readonly path: string
  /** The right that it asks for. */
  readonly scope: Right | undefined
  /** JSON Schema, where it has one. */
  readonly body: object | undefined
  readonly querystring: object | undefined
  /** The JSON Schemas of what it reads of a request. */
  readonly parts: readonly object[]
  /** The schemas that these refer to. */
  readonly shared: () => Readonly<Record<string, object>>
}

/** Every route that is added to any Fastify application while `make` runs. */
export async function collectRoutes<Made>(
  make: () => Promise<Made>,
): Promise<{ readonly made: Made; readonly routes: readonly TableRow[] }> {
  const routes: TableRow[] = []
  const listen = (message: unknown) => {
    const { fastify } = message as { readonly fastify: FastifyInstance } // what Fastify publishes when it is called
    fastify.addHook('onRoute', function ({ method, url: path, config, schema }) {
      const body = schema?.body as object | undefined
      const querystring = schema?.querystring as object | undefined
      for (const one of [method].flat()) {
        const shared = () => this.getSchemas() as Record<string, object>
        const parts = [schema?.params, schema?.headers, querystring, ...bodiesOf(body)].filter((part) => isRecord(part))
        routes.push({
          method: one,
          path: path === '' ? '/' : path,
          scope: config?.scope,
          body,
          querystring,
          parts,
          shared,
        })
      }
    })
  }
  subscribe('fastify.initialization', listen)
  try {
    return { made: await make(), routes }
  } finally {
    unsubscribe('fastify.initialization', listen)
  }
}

/** A body has one schema, or one for each content type. */
function bodiesOf(body: object | undefined): readonly unknown[] {
  const { content } = (body ?? {}) as { readonly content?: unknown }
  return isRecord(content) ? Object.values(content).map((one) => isRecord(one) && one['schema']) : [body]
}

/** @param folder Where the application may keep what it keeps. */
export async function routesOfTheService(test: TestContext, folder: string): Promise<readonly TableRow[]> {
  const { routes, close } = await readRoutes(folder, await currentLocation(test))
  test.after(close)
  return routes
}

/** @param place Of an empty database. */
export async function readRoutes(folder: string, place: string) {
  const env = { TURNPIKE_DATA_DIR: folder }
  const builtIn = { builtInProviders: [], providerVariables: {}, settingVariables: {} }
  const config = await loadConfig({ env, cwd: folder, builtIn })
  const database = await openLocation(place)
  const { log } = await openLog({ level: 'silent', terminal: false })
  await migrate(database.db, Date.now)
  const { made: app, routes } = await collectRoutes(() =>
    createApp({ config, database, log, version: '0.0.0', secret: new Uint8Array(32) }),
  )
  const close = async (): Promise<void> => {
    await app.server.close()
    await app.close()
    await database.close()
  }
  return { routes, close }
}
