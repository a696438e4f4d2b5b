/** The Grafana dashboard and the Prometheus rules of `deploy/grafana`, made from the metrics that the gateway registers. */
import { createMetrics } from '../../src/telemetry/metrics.ts'

export interface Panel {
  readonly title: string
  readonly unit: string
  /** Legend → query. */
  readonly queries: Readonly<Record<string, string>>
  /** Whose help describes the panel. */
  readonly metric: string
}

const RATE = '[$__rate_interval]'
const quantile = (share: number, metric: string, by = ''): string =>
  `histogram_quantile(${share}, sum by (le${by}) (rate(${metric}_bucket${RATE})))`

/** By row. */
export const PANELS: Readonly<Record<string, readonly Panel[]>> = {
  Requests: [
    {
      title: 'Requests by outcome',
      unit: 'reqps',
      metric: 'turnpike_completions_total',
      queries: { '{{status}}': `sum by (status) (rate(turnpike_completions_total${RATE}))` },
    },
    {
      title: 'Error ratio',
      unit: 'percentunit',
      metric: 'turnpike_completions_total',
      queries: {
        errors: `(sum(rate(turnpike_completions_total{status=~"failed|incomplete"}${RATE})) or vector(0)) / sum(rate(turnpike_completions_total${RATE}))`,
      },
    },
    {
      title: 'In flight',
      unit: 'short',
      metric: 'turnpike_active_completions',
      queries: { '{{instance}}': 'turnpike_active_completions' },
    },
    {
      title: 'Duration by model (p95)',
      unit: 's',
      metric: 'gen_ai_server_request_duration_seconds',
      queries: {
        '{{gen_ai_request_model}}': quantile(0.95, 'gen_ai_server_request_duration_seconds', ', gen_ai_request_model'),
      },
    },
    {
      title: 'Time to first token by model (p95)',
      unit: 's',
      metric: 'gen_ai_server_time_to_first_token_seconds',
      queries: {
        '{{gen_ai_request_model}}': quantile(
          0.95,
          'gen_ai_server_time_to_first_token_seconds',
          ', gen_ai_request_model',
        ),
      },
    },
    {
      title: 'Time for each token of output (p50)',
      unit: 's',
      metric: 'gen_ai_server_time_per_output_token_seconds',
      queries: {
        '{{gen_ai_request_model}}': quantile(
          0.5,
          'gen_ai_server_time_per_output_token_seconds',
          ', gen_ai_request_model',
        ),
      },
    },
  ],
  'Tokens and money': [
    {
      title: 'Tokens',
      unit: 'short',
      metric: 'turnpike_tokens_total',
      queries: { '{{direction}}': `sum by (direction) (rate(turnpike_tokens_total${RATE}))` },
    },
    {
      title: 'Tokens of a request (p95)',
      unit: 'short',
      metric: 'gen_ai_client_token_usage',
      queries: { '{{gen_ai_token_type}}': quantile(0.95, 'gen_ai_client_token_usage', ', gen_ai_token_type') },
    },
    {
      title: 'Charges an hour, by model',
      unit: 'currencyUSD',
      metric: 'turnpike_cost_usd_total',
      queries: { '{{model}}': `topk(10, sum by (model) (rate(turnpike_cost_usd_total${RATE}))) * 3600` },
    },
    {
      title: 'On hold',
      unit: 'currencyUSD',
      metric: 'turnpike_held_usd',
      queries: { '{{instance}}': 'turnpike_held_usd' },
    },
    {
      title: 'Ledger: lag of the oldest settlement',
      unit: 's',
      metric: 'turnpike_ledger_lag_seconds',
      queries: { '{{instance}}': 'turnpike_ledger_lag_seconds' },
    },
    {
      title: 'Spool',
      unit: 'bytes',
      metric: 'turnpike_spool_bytes',
      queries: { '{{instance}}': 'turnpike_spool_bytes' },
    },
  ],
  Providers: [
    {
      title: 'Attempts by outcome',
      unit: 'reqps',
      metric: 'turnpike_provider_attempts_total',
      queries: {
        '{{provider}} {{outcome}}': `sum by (provider, outcome) (rate(turnpike_provider_attempts_total${RATE}))`,
      },
    },
    {
      title: 'Circuit breakers',
      unit: 'short',
      metric: 'turnpike_provider_breaker_open',
      queries: { '{{provider}} {{model}}': 'max by (provider, model) (turnpike_provider_breaker_open)' },
    },
    {
      title: 'In flight and queued',
      unit: 'short',
      metric: 'turnpike_provider_in_flight',
      queries: {
        '{{provider}} in flight': 'sum by (provider) (turnpike_provider_in_flight)',
        '{{provider}} queued': 'sum by (provider) (turnpike_provider_queued)',
      },
    },
  ],
  Process: [
    {
      title: 'Overhead of the gateway',
      unit: 's',
      metric: 'turnpike_overhead_seconds',
      queries: { p50: quantile(0.5, 'turnpike_overhead_seconds'), p99: quantile(0.99, 'turnpike_overhead_seconds') },
    },
    {
      title: 'Event loop delay (p99)',
      unit: 's',
      metric: 'nodejs_eventloop_lag_p99_seconds',
      queries: { '{{instance}}': 'nodejs_eventloop_lag_p99_seconds' },
    },
    {
      title: 'CPU and memory',
      unit: 'short',
      metric: 'process_cpu_seconds_total',
      queries: {
        '{{instance}} CPU': `rate(process_cpu_seconds_total${RATE})`,
        '{{instance}} GiB': 'process_resident_memory_bytes / 2^30',
      },
    },
    {
      title: 'Telemetry: exported and dropped',
      unit: 'short',
      metric: 'turnpike_telemetry_dropped_total',
      queries: {
        '{{signal}} exported': `sum by (signal) (rate(turnpike_telemetry_exported_total${RATE}))`,
        '{{signal}} dropped': `sum by (signal) (rate(turnpike_telemetry_dropped_total${RATE}))`,
      },
    },
  ],
}

/** Help of every registered metric, by its name. */
async function helpTexts(): Promise<ReadonlyMap<string, string>> {
  const none = (): readonly never[] => []
  const metrics = createMetrics({
    active: () => 0,
    unwritten: () => 0,
    providers: none,
    holds: none,
    budgets: none,
    spoolBytes: () => 0,
    ledgerLagMs: () => 0,
    exports: none,
  })
  const text = await metrics.render()
  metrics.close()
  return new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]))
}

/** Grafana's variable. */
const DATASOURCE = ['$', '{datasource}'].join('')
const WIDTH = 8
const HEIGHT = 8
const COLUMNS = 24

/** @throws Error for a panel of a metric that is not registered. */
export async function dashboardJson(): Promise<string> {
  const help = await helpTexts()
  const panels: object[] = []
  let y = 0
  for (const [title, row] of Object.entries(PANELS)) {
    panels.push({ type: 'row', title, collapsed: false, panels: [], gridPos: { h: 1, w: COLUMNS, x: 0, y: y++ } })
    row.forEach((panel, at) => {
      const x = (at * WIDTH) % COLUMNS
      panels.push(
        panelJson(panel, help, { h: HEIGHT, w: WIDTH, x, y: y + Math.floor((at * WIDTH) / COLUMNS) * HEIGHT }),
      )
    })
    y += Math.ceil((row.length * WIDTH) / COLUMNS) * HEIGHT
  }
  const datasource = { type: 'datasource', name: 'datasource', label: 'Prometheus', query: 'prometheus' }
  const numbered = panels.map((panel, at) => ({ id: at + 1, ...panel }))
  return `${JSON.stringify(
    {
      title: 'Turnpike',
      uid: 'turnpike',
      tags: ['turnpike', 'llm'],
      schemaVersion: 39,
      editable: true,
      refresh: '30s',
      time: { from: 'now-3h', to: 'now' },
      templating: { list: [datasource] },
      panels: numbered,
    },
    undefined,
    2,
  )}\n`
}

function panelJson(
  { title, unit, queries, metric }: Panel,
  help: ReadonlyMap<string, string>,
  gridPos: object,
): object {
  const description = help.get(metric)
  if (description === undefined) throw new Error(`The panel '${title}' shows '${metric}', which is not registered.`)
  const datasource = { type: 'prometheus', uid: DATASOURCE }
  const targets = Object.entries(queries).map(([legendFormat, expr], at) => ({
    refId: String.fromCharCode(65 + at),
    datasource,
    expr,
    legendFormat,
    exemplar: expr.includes('_bucket'),
  }))
  return {
    type: 'timeseries',
    title,
    description,
    datasource,
    fieldConfig: { defaults: { unit }, overrides: [] },
    targets,
    gridPos,
  }
}

interface Rule {
  readonly name: string
  readonly expr: string
  readonly wait: string
  readonly severity: 'page' | 'ticket'
  readonly summary: string
}

/** Ratios of bad requests, by the objective that they spend. */
export const OBJECTIVES = {
  availability: {
    target: 0.995,
    ratio: (window: string) =>
      `(sum(rate(turnpike_completions_total{status=~"failed|incomplete"}[${window}])) or vector(0)) / sum(rate(turnpike_completions_total[${window}]))`,
  },
  first_token: {
    target: 0.95,
    ratio: (window: string) =>
      `1 - sum(rate(turnpike_first_byte_seconds_bucket{stream="true",le="5"}[${window}])) / sum(rate(turnpike_first_byte_seconds_count{stream="true"}[${window}]))`,
  },
  overhead: {
    target: 0.99,
    ratio: (window: string) =>
      `1 - sum(rate(turnpike_overhead_seconds_bucket{le="0.05"}[${window}])) / sum(rate(turnpike_overhead_seconds_count[${window}]))`,
  },
} as const

/** Long and short window, how many times faster than sustainable the budget of 30 days is spent, and what that deserves. */
const BURN_RATES = [
  { long: '1h', short: '5m', rate: 14.4, wait: '2m', severity: 'page' },
  { long: '6h', short: '30m', rate: 6, wait: '15m', severity: 'page' },
  { long: '3d', short: '6h', rate: 1, wait: '1h', severity: 'ticket' },
] as const
const WINDOWS = [...new Set(BURN_RATES.flatMap(({ long, short }) => [short, long]))]

export const ratioName = (objective: string, window: string): string => `turnpike:${objective}:bad_ratio_rate${window}`

export function recordings(): readonly { readonly record: string; readonly expr: string }[] {
  return Object.entries(OBJECTIVES).flatMap(([name, { ratio }]) =>
    WINDOWS.map((window) => ({ record: ratioName(name, window), expr: ratio(window) })),
  )
}

function burnRules(): readonly Rule[] {
  return Object.entries(OBJECTIVES).flatMap(([name, { target }]) =>
    BURN_RATES.map(({ long, short, rate, wait, severity }): Rule => {
      const limit = Number((rate * (1 - target)).toFixed(6))
      return {
        name: `Turnpike${camel(name)}Burn${long}`,
        expr: `${ratioName(name, long)} > ${limit} and ${ratioName(name, short)} > ${limit}`,
        wait,
        severity,
        summary: `The error budget of ${name.replace('_', ' ')} (${target * 100} %) is spent ${rate} times too fast.`,
      }
    }),
  )
}

/** Name, query, wait, severity, summary. */
const CAUSES: readonly (readonly [string, string, string, Rule['severity'], string])[] = [
  ['TurnpikeDown', 'absent(turnpike_active_completions)', '5m', 'page', 'No process of Turnpike is scraped.'],
  ['TurnpikeOverloaded', 'max(turnpike_overloaded) > 0', '5m', 'page', 'A process rejects new requests.'],
  [
    'TurnpikeLedgerFindings',
    'max(turnpike_ledger_audit_findings) > 0',
    '0m',
    'page',
    'The audit of the ledger found a difference.',
  ],
  [
    'TurnpikeLedgerAuditStale',
    'time() - max(turnpike_ledger_audit_last_run_timestamp_seconds) > 9 * 86400 and max(turnpike_ledger_audit_last_run_timestamp_seconds) > 0',
    '1h',
    'ticket',
    'No audit of the ledger has ended for nine days.',
  ],
  [
    'TurnpikeLedgerLag',
    'max(turnpike_ledger_lag_seconds) > 30',
    '5m',
    'page',
    'Settlements are not committed: is the database reachable?',
  ],
  [
    'TurnpikeSpoolGrows',
    'max(turnpike_spool_bytes) > 67108864',
    '10m',
    'page',
    'The ledger does not take what the spool has.',
  ],
  [
    'TurnpikeBreakerOpen',
    'max by (provider, model) (turnpike_provider_breaker_open) == 1',
    '10m',
    'ticket',
    'A provider fails: its breaker stays open.',
  ],
  [
    'TurnpikeProviderRefuses',
    'sum by (provider, outcome) (increase(turnpike_provider_attempts_total{outcome=~"credentials|quota|not_found"}[15m])) > 0',
    '0m',
    'ticket',
    'A provider refuses the credential, its account or a model.',
  ],
  [
    'TurnpikeUsageBounded',
    'sum by (provider, model) (increase(turnpike_usage_bounded_total[1h])) > 0',
    '0m',
    'ticket',
    'A provider reports impossible usage.',
  ],
  [
    'TurnpikePriceEnds',
    'min by (model) (turnpike_model_price_end_timestamp_seconds) - time() < 7 * 86400',
    '0m',
    'ticket',
    'The price of a model ends within a week, or has ended, without a successor.',
  ],
  [
    'TurnpikeEventLoopLate',
    'max by (instance) (nodejs_eventloop_lag_p99_seconds) > 0.2',
    '10m',
    'ticket',
    'The event loop is late: add a process.',
  ],
  [
    'TurnpikeTelemetryDropped',
    'sum by (signal) (increase(turnpike_telemetry_dropped_total[15m])) > 0',
    '15m',
    'ticket',
    'Spans or metrics are dropped: is the receiver reachable?',
  ],
]

export function alertRules(): readonly Rule[] {
  const causes = CAUSES.map(([name, expr, wait, severity, summary]): Rule => ({ name, expr, wait, severity, summary }))
  return [...burnRules(), ...causes]
}

export async function alertsYaml(): Promise<string> {
  const records = recordings().map(
    ({ record, expr }) => `      - record: ${record}\n        expr: ${JSON.stringify(expr)}`,
  )
  const alerts = alertRules().map(({ name, expr, wait, severity, summary }) =>
    [
      `      - alert: ${name}`,
      `        expr: ${JSON.stringify(expr)}`,
      `        for: ${wait}`,
      `        labels: { severity: ${severity} }`,
      `        annotations: { summary: ${JSON.stringify(summary)} }`,
    ].join('\n'),
  )
  const head = '# Written by npm run generate:docs; docs/slo.md says what to do about each.'
  return [
    head,
    'groups:',
    '  - name: turnpike-objectives',
    '    rules:',
    ...records,
    '  - name: turnpike-alerts',
    '    rules:',
    ...alerts,
    '',
  ].join('\n')
}

function camel(name: string): string {
  return name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}
