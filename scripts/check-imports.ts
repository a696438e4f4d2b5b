/**
 * The arrows of the house: who may import whom. Tests are free: they use real parts from everywhere.
 *
 *   lib <- domain <- {db, http, protocols};  protocols <- providers <- gateway;  db <- jobs <- features;
 *   http <- features;  {lib, domain} <- runner <- features;  a feature never imports a feature;
 *   cli/, app/, app.ts and main.ts know everyone.
 */
import { finding, type Import, importsOf, productFiles, projectFiles, report, type SourceFile } from './source-files.ts'

/** For each room, the rooms it may import beside itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  domain: ['lib'],
  config: ['lib', 'domain'],
  db: ['domain', 'lib'],
  http: ['domain', 'lib'],
  protocols: ['domain', 'lib'],
  providers: ['protocols', 'domain', 'lib'],
  gateway: ['providers', 'protocols', 'domain', 'lib'],
  jobs: ['db', 'domain', 'lib'],
  runner: ['http', 'domain', 'lib'],
  features: ['runner', 'jobs', 'db', 'http', 'domain', 'lib', 'catalogue'],
  catalogue: ['domain', 'lib'],
}
const KNOW_EVERYONE = /^src\/(cli\/|app\/|app\.ts$|main\.ts$)/
/** Of a room that is otherwise closed to another, what that may use: agents' connections are checked as webhooks' are. */
const ALONE: Readonly<Record<string, readonly string[]>> = { 'runner>http': ['src/http/guarded-agent.ts'] }
/** Files that every feature may use. */
const SHARED_BY_FEATURES = ['src/features/deps.ts']

/** Rooms without effects, and the modules through which effects come in. */
const PURE_ROOMS = new Set(['lib', 'domain', 'protocols'])
const EFFECTS =
  /^node:(fs|net|tls|http|https|http2|dns|dgram|os|process|child_process|cluster|worker_threads|perf_hooks|timers|sqlite|readline|diagnostics_channel|async_hooks)\b/
const PACKAGES_OUT_OF_REACH: Readonly<Record<string, RegExp>> = {
  lib: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  domain: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  protocols: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  providers: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  gateway: /^(fastify|@fastify|kysely|pino|prom-client|@opentelemetry|commander)\b/,
}

/** The room a path is in: a folder of `src/`, `catalogue`, or undefined for what belongs to none. */
function roomOf(path: string): string | undefined {
  if (path.startsWith('catalogue/')) return 'catalogue'
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

function featureOf(path: string): string | undefined {
  return /^src\/features\/([^/]+)\//.exec(path)?.[1]
}

function complaint(from: string, { target, isLocal }: Import): string | undefined {
  const room = roomOf(from)
  if (room === undefined || !(room in ARROWS))
    return `${from} is in no known room; give it one in scripts/check-imports.ts`
  if (isLocal) return roomComplaint({ from, room, target })
  if (target.startsWith('node:')) {
    return PURE_ROOMS.has(room) && EFFECTS.test(target) ? `${room} has no effects, but imports ${target}` : undefined
  }
  return PACKAGES_OUT_OF_REACH[room]?.test(target) ? `${room} must not know ${target}` : undefined
}

function roomComplaint(edge: { from: string; room: string; target: string }): string | undefined {
  const { from, room, target } = edge
  if (/\.test\.ts$/.test(target)) return `product code imports a test, ${target}`
  const targetRoom = roomOf(target)
  if (targetRoom === undefined) return `${room} must not know ${target}`
  if (targetRoom !== room) {
    const alone = ALONE[`${room}>${targetRoom}`]
    if (alone !== undefined && !alone.includes(target))
      return `${room} may import ${alone.join(', ')} of ${targetRoom} alone`
    return ARROWS[room]?.includes(targetRoom) ? undefined : `${room} must not import ${targetRoom} (${target})`
  }
  if (room !== 'features' || SHARED_BY_FEATURES.includes(target)) return undefined
  return featureOf(from) === featureOf(target) ? undefined : `a feature never imports a feature (${target})`
}

function check(files: readonly SourceFile[]): string[] {
  const findings: string[] = []
  for (const file of files) {
    if (KNOW_EVERYONE.test(file.path)) continue
    for (const imported of importsOf(file)) {
      const message = complaint(file.path, imported)
      if (message !== undefined) findings.push(finding(file, imported.offset, message))
    }
  }
  return findings
}

const all = projectFiles()
const catalogue = all.filter(({ path }) => /^catalogue\/.+(?<!\.test)\.ts$/.test(path))
report('imports', check([...productFiles(all), ...catalogue]))
