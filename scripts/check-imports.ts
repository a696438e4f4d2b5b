/**
 * Checks which folder may import which, and that no files import each other in a cycle. Tests are exempt.
 *
 *   lib <- domain <- {db, net, telemetry, http, protocols};  protocols <- providers <- gateway;
 *   {net, telemetry} <- http;  db <- jobs <- features;  {http, net, telemetry, runner} <- features;  net <- runner;
 *   a feature never imports a feature;
 *   cli/, app/, app.ts and main.ts may import everything.
 */
import {
  finding,
  type Import,
  importsOf,
  isTest,
  productFiles,
  projectFiles,
  report,
  type SourceFile,
} from './source-files.ts'

/** For each folder, the folders it may import besides itself. */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  domain: ['lib', 'packages'],
  packages: [],
  config: ['lib', 'domain'],
  db: ['domain', 'lib'],
  net: ['domain', 'lib'],
  telemetry: ['domain', 'lib'],
  http: ['telemetry', 'net', 'domain', 'lib'],
  protocols: ['domain', 'lib'],
  providers: ['protocols', 'domain', 'lib'],
  gateway: ['providers', 'protocols', 'domain', 'lib'],
  jobs: ['db', 'domain', 'lib'],
  runner: ['net', 'domain', 'lib'],
  features: ['runner', 'jobs', 'db', 'http', 'telemetry', 'net', 'domain', 'lib', 'catalogue'],
  catalogue: ['domain', 'lib'],
}
const MAY_IMPORT_EVERYTHING = /^src\/(cli\/|app\/|app\.ts$|main\.ts$)/
/** Files that every feature may use. */
const SHARED_BY_FEATURES = ['src/features/credential-cache.ts', 'src/features/deps.ts']

/** Folders without effects, and the modules that have effects. */
const PURE_FOLDERS = new Set(['lib', 'domain', 'protocols'])
const EFFECTS =
  /^node:(fs|net|tls|http|https|http2|dns|dgram|os|process|child_process|cluster|worker_threads|perf_hooks|timers|sqlite|readline|diagnostics_channel|async_hooks)\b/
const FORBIDDEN_PACKAGES: Readonly<Record<string, RegExp>> = {
  lib: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  domain: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  protocols: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  providers: /^(undici|fastify|@fastify|kysely|pino|prom-client|commander)\b/,
  gateway: /^(fastify|@fastify|kysely|pino|prom-client|@opentelemetry|commander)\b/,
}

/** Returns the folder of `src/` that a path is in, `catalogue`, or undefined. */
function folderOf(path: string): string | undefined {
  if (path.startsWith('catalogue/')) return 'catalogue'
  if (path.startsWith('packages/')) return 'packages'
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

function featureOf(path: string): string | undefined {
  return /^src\/features\/([^/]+)\//.exec(path)?.[1]
}

function violation(from: string, { target, isLocal }: Import): string | undefined {
  const folder = folderOf(from)
  if (folder === undefined || !(folder in ALLOWED_IMPORTS))
    return `${from} is in an unknown folder; add it to scripts/check-imports.ts`
  if (isLocal) return folderViolation({ from, folder, target })
  if (target.startsWith('node:')) {
    return PURE_FOLDERS.has(folder) && EFFECTS.test(target)
      ? `${folder} has no effects, but imports ${target}`
      : undefined
  }
  return FORBIDDEN_PACKAGES[folder]?.test(target) ? `${folder} must not import ${target}` : undefined
}

function folderViolation(edge: { from: string; folder: string; target: string }): string | undefined {
  const { from, folder, target } = edge
  if (/\.test\.ts$/.test(target)) return `product code imports a test, ${target}`
  const targetFolder = folderOf(target)
  if (targetFolder === undefined) return `${folder} must not import ${target}`
  if (targetFolder !== folder) {
    return ALLOWED_IMPORTS[folder]?.includes(targetFolder)
      ? undefined
      : `${folder} must not import ${targetFolder} (${target})`
  }
  if (folder !== 'features' || SHARED_BY_FEATURES.includes(target)) return undefined
  return featureOf(from) === featureOf(target) ? undefined : `a feature never imports a feature (${target})`
}

function violations(files: readonly SourceFile[]): string[] {
  const findings: string[] = []
  for (const file of files) {
    if (MAY_IMPORT_EVERYTHING.test(file.path)) continue
    for (const imported of importsOf(file)) {
      const message = violation(file.path, imported)
      if (message !== undefined) findings.push(finding(file, imported.offset, message))
    }
  }
  return findings
}

const WITHOUT_CYCLES = /^(src|scripts|test\/support|dashboard\/src|catalogue)\/.+\.tsx?$/

/** Finds import cycles of any kind: static, type-only, re-exports, `import()`, worker URLs. */
function cycles(files: readonly SourceFile[]): string[] {
  const edges = new Map(files.map((file) => [file.path, importsOf(file).map(({ target }) => target)]))
  return components(edges).map((paths) => `${paths[0]}:1: an import cycle: ${paths.join(', ')}`)
}

/** Returns the strongly connected components of more than one file, or of one that imports itself (Tarjan 1972). */
function components(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const visit = (path: string): number => {
    const index = order.size
    order.set(path, index)
    stack.push(path)
    let lowest = index
    for (const target of edges.get(path) ?? []) {
      if (!edges.has(target)) continue
      const known = order.get(target)
      if (known === undefined) lowest = Math.min(lowest, visit(target))
      else if (stack.includes(target)) lowest = Math.min(lowest, known)
    }
    if (lowest < index) return lowest
    const component = stack.splice(stack.indexOf(path))
    if (component.length > 1 || edges.get(path)?.includes(path)) found.push(component.sort())
    return lowest
  }
  for (const path of edges.keys()) if (!order.has(path)) visit(path)
  return found
}

const all = projectFiles()
const catalogue = all.filter(({ path }) => /^catalogue\/.+(?<!\.test)\.ts$/.test(path))
const acyclic = all.filter(({ path }) => WITHOUT_CYCLES.test(path) && !isTest(path))
report('imports', [...violations([...productFiles(all), ...catalogue]), ...cycles(acyclic)])
