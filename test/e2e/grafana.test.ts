/**
 * The dashboard and the rules of `deploy/grafana` against the metrics of a gateway that has served requests. Runs on one
 * database.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parser } from '@prometheus-io/lezer-promql'
import { alertRules, PANELS, recordings } from '../../scripts/kit/grafana.ts'
import { findTool } from '../../scripts/kit/machine-tools.ts'
import { CHAT, hello, send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
import { blockOf } from '../support/http/reader.ts'
import { startReceiver } from '../support/otlp/receiver.ts'
import { freePort } from '../support/process/free-port.ts'

const receiver = await startReceiver((close) => after(close))
const gateway = await startGateway({ config: { telemetry: { otlp_endpoint: receiver.url } } })
after(() => gateway.stop())
const key = await gateway.key()

async function load(): Promise<void> {
  for (const stream of [true, false, true]) {
    const body = hello({ model: 'turnpike-simulator', max_tokens: 3, stream })
    assert.equal((await send(gateway, CHAT, { key, body })).status, 200)
  }
}

await load()
const { text: scrape } = await send(gateway, '/metrics')

const RECORDED = new Map(recordings().map(({ record, expr }) => [record, expr]))
const QUERIES = [
  ...Object.values(PANELS).flatMap((row) => row.flatMap(({ queries }) => Object.values(queries))),
  ...RECORDED.values(),
  ...alertRules().map(({ expr }) => expr),
].map((query) => query.replaceAll('$__rate_interval', '5m'))

/** Names of labels by metric, as the gateway exports them; Prometheus adds `instance` and `job`. */
const labelsOf = new Map<string, Set<string>>()
for (const [, family = ''] of scrape.matchAll(/^# TYPE (\S+)/gm)) labelsOf.set(family, new Set(['instance', 'job']))
for (const [, name = '', labels = ''] of scrape.matchAll(/^([a-z]\w*)(?:\{(.*)\})? /gm)) {
  const known = labelsOf.get(name) ?? new Set(['instance', 'job'])
  for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
  labelsOf.set(name, known)
}
for (const name of RECORDED.keys()) labelsOf.set(name, new Set())

/** Metrics without a series until something happens, with their labels. */
const SELDOM: Readonly<Record<string, readonly string[]>> = {
  turnpike_usage_bounded_total: ['model', 'provider'],
  turnpike_model_price_end_timestamp_seconds: ['model'],
}
for (const [name, labels] of Object.entries(SELDOM))
  labelsOf.set(name, new Set([...(labelsOf.get(name) ?? []), ...labels]))

test('every metric is documented', () => {
  const pages = ['observability', 'operations'].map((name) =>
    readFileSync(join(import.meta.dirname, `../../docs/${name}.md`), 'utf8'),
  )
  const exported = [...scrape.matchAll(/^# TYPE ((?:turnpike|gen_ai)_\w+)/gm)].map(([, name = '']) => name)
  assert.ok(exported.length > 30)
  assert.deepEqual(
    exported.filter((name) => !pages.join().includes(`\`${name}`)),
    [],
  )
})

test('every query parses, and names metrics and labels that the gateway exports', () => {
  assert.ok(QUERIES.length > 50)
  for (const query of QUERIES) {
    const selectors = selectorsOf(query)
    assert.ok(selectors.length > 0, query)
    const all = new Set(selectors.flatMap(({ metric }) => [...(labelsOf.get(metric) ?? [])]))
    for (const { metric, labels } of selectors) {
      const known = labelsOf.get(metric)
      assert.ok(known !== undefined, `${metric} is not exported: ${query}`)
      for (const label of labels) assert.ok(known.has(label), `${metric} has no label ${label}: ${query}`)
    }
    for (const [, list = ''] of query.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of list.split(',')) assert.ok(all.has(label.trim()), `nothing has the label ${label}: ${query}`)
  }
})

interface Selector {
  readonly metric: string
  readonly labels: string[]
}

/** The metrics of a query, with the labels that they are selected by. */
function selectorsOf(query: string): readonly Selector[] {
  const selectors: (Selector & { readonly to: number })[] = []
  parser.parse(query).iterate({
    enter({ name, type, from, to }) {
      assert.ok(!type.isError, `${query} does not parse at ${from}`)
      const word = query.slice(from, to)
      if (name === 'VectorSelector') selectors.push({ metric: /^[\w:]+/.exec(word)?.[0] ?? '', labels: [], to })
      const inside = selectors.at(-1)
      if (name === 'LabelName' && inside !== undefined && from < inside.to) inside.labels.push(word)
    },
  })
  return selectors
}

test('Prometheus scrapes the gateway, accepts the rules and evaluates every query', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-prometheus-'))
  const port = await freePort()
  // As docs/operations.md prints it, without TLS.
  const scraped = blockOf('docs/operations.md', 'scrape_configs:')
    .text.replace('scheme: https', 'scheme: http')
    .replace('/etc/prometheus/turnpike-key', join(folder, 'key'))
    .replace('ai.example.com', `127.0.0.1:${gateway.port}`)
  writeFileSync(join(folder, 'key'), await gateway.key('--operator', '--scopes', 'models:read'))
  const rules = join(import.meta.dirname, '../../deploy/grafana/turnpike-alerts.yaml')
  writeFileSync(
    join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 500ms, evaluation_interval: 500ms }
rule_files: [${JSON.stringify(rules)}]
${scraped}
`,
  )
  const flags = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`]
  const exemplars = '--enable-feature=exemplar-storage'
  const child = spawn(findTool('prometheus'), [...flags, exemplars, `--web.listen-address=127.0.0.1:${port}`], {
    stdio: 'ignore',
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const api = `http://127.0.0.1:${port}/api/v1`
  const ask = async (path: string, query: string): Promise<Result> => {
    const answer = await fetch(`${api}/${path}?${new URLSearchParams({ query })}`)
    return (await answer.json()) as Result
  }
  const count = async (query: string): Promise<number> => ((await ask('query', query)).data?.result ?? []).length
  const isUp = async (query: string): Promise<boolean> => (await count(query).catch(() => 0)) > 0
  while (!(await isUp('count_over_time(turnpike_completions_total[5m]) >= 2'))) await sleep(200)
  await load()
  while (!(await isUp('increase(turnpike_completions_total[5m]) > 0'))) await sleep(200)
  for (const query of QUERIES) {
    const { status, error } = await ask('query', query)
    assert.equal(status, 'success', `${query}: ${error}`)
  }
  for (const row of Object.values(PANELS)) {
    for (const query of row.flatMap(({ queries }) => Object.values(queries))) {
      assert.ok((await count(query.replaceAll('$__rate_interval', '5m'))) > 0, `nothing to see: ${query}`)
    }
  }
  for (const expr of RECORDED.values()) assert.ok((await count(expr)) > 0, expr)
  const linked = await fetch(
    `${api}/query_exemplars?${new URLSearchParams({ query: 'turnpike_completion_duration_seconds_bucket', ...RANGE })}`,
  )
  assert.match(await linked.text(), /"trace_id":"[0-9a-f]{32}"/)
})

const RANGE = { start: String(Math.floor(Date.now() / 1000) - 3600), end: String(Math.floor(Date.now() / 1000) + 3600) }

interface Result {
  readonly status: string
  readonly error?: string
  readonly data?: { readonly result: readonly unknown[] }
}
