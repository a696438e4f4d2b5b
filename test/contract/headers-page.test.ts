/** docs/headers.md against the source: no header is missing, none is made up. Runs on one database. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..', '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'headers.md'), 'utf8')
/** Those of providers' own APIs, of git hosts and of the command line are not of this page. */
const SOURCES = ['app', 'domain', 'features', 'gateway', 'http', 'lib', 'net', 'telemetry', 'protocols/*/client']
/** Of collectors of telemetry and of git hosts, and a file. */
const OF_OTHERS = new Set(['x-honeycomb-team', 'x-github-api-version', 'webhook-secrets'])
const NAMES = [
  'x-[a-z]+(?:-[a-z]+)*',
  '(?:request|session|thread|last-event|conversation)[-_]id',
  'retry-after(?:-ms)?',
  'idempoten(?:t|cy)-[a-z]+',
  'trace(?:parent|state)|baggage',
  '(?:anthropic|openai)-(?:beta|version)',
  'sec-fetch-site|if-none-match|accept-encoding|cache-control|set-cookie|sunset|deprecation',
  'webhook-[a-z]+',
  'content-(?:type|length|encoding|disposition|security-policy)',
  '(?:referrer|permissions|cross-origin-opener)-policy|strict-transport-security',
]
const HEADER = new RegExp(`(?<=[\\s'"\`{,(])(${NAMES.join('|')})(?=['"\`])`, 'g')

const codeOf = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
const code = SOURCES.flatMap((folder) => globSync(`src/${folder}/**/*.ts`, { cwd: ROOT }))
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => codeOf(readFileSync(join(ROOT, path), 'utf8')))
  .join('\n')
const documented = new Set(
  [...PAGE.matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z_-]+)`/g)].map(([, name]) => name),
  ),
)

test('every header that the source names is in the tables or the text of the page', () => {
  const named = new Set([...code.matchAll(HEADER)].map(([, name = '']) => name))
  assert.ok(named.size > 50)
  assert.deepEqual([...named].filter((name) => !OF_OTHERS.has(name) && !PAGE.includes(`\`${name}\``)).sort(), [])
})

test('the tables name no header that the source does not have', () => {
  assert.ok(documented.size > 60)
  const parts = ['x-ratelimit-limit-', 'x-ratelimit-remaining-', 'x-ratelimit-reset-'] // of `limitHeaders`
  const isSet = (name: string) =>
    code.includes(name) || parts.some((part) => name.startsWith(part) && code.includes(part))
  /** Set by Fastify's plugins and Node.js, by an option of ours. */
  const byLibraries = ['access-control-allow-origin', 'access-control-expose-headers', 'x-forwarded-for', 'accept']
  assert.deepEqual(
    [...documented].filter((name = '') => !isSet(name) && !byLibraries.includes(name)),
    [],
  )
})

test('scripts of other origins may read every header of the tables about completions, limits and errors', () => {
  const [, exposed = ''] = /exposedHeaders: \[([\s\S]*?)\]/.exec(code) ?? []
  const tables = /### Completions[\s\S]*?### Lists and files/.exec(PAGE)?.[0] ?? ''
  const names = [...tables.matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, cell = '']) => cell.match(/[a-z][a-z-]+/g) ?? [])
  const ofConnections = new Set(['x-accel-buffering', 'allow', 'connection'])
  assert.deepEqual(
    names.filter((name) => !ofConnections.has(name) && !exposed.includes(`'${name}'`)),
    [],
  )
})
