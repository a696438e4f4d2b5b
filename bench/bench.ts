/**
 * `npm run bench`: one table of what a request costs through a bare forwarder, Turnpike on SQLite and on PostgreSQL, and
 * nginx where that is installed, in turn, in front of the same provider on loopback. Only the ratios of one run are
 * meaningful, since the machine varies between runs. docs/benchmarks.md says what is measured and what is unfair in it.
 *
 *   --peers    adds Portkey and LiteLLM, which are installed into a temporary folder from npm and PyPI
 *   --gateway NAME=COMMAND  adds another gateway; may be repeated
 *   --guard    measures only what `bench/budgets.ts` has as ratios, and fails if one is 15 % above its budget; two minutes
 *   --quick    takes a fifth of the time
 *   --json     prints one JSON object instead of tables
 *   --plot FILE  writes a chart of CPU time, as SVG
 *   --soak     adds a million requests and measures the growth of memory
 *   --profile  prints the functions of Turnpike that take most time, and keeps the profile in a temporary folder
 *
 * Each of these measures only one thing:
 *
 *   --against FOLDER  CPU time compared with another checkout, alternating every second
 *   --bodies    the effect of hostile request bodies on another account, and on memory
 *   --canary   whether a canary that shifts by reloads drops any of 500 requests a second
 *   --dashboard  the effect of dashboard users on the latency of chats
 *   --dashboard-pages  how soon pages of the dashboard show their content and answer, in Chromium, with a million requests
 *   --dashboard-queries  the latency of dashboard views over a million completions, or over as many as `--rows` says
 *   --fairness  the effect of an account at ten times its rate limit on another one
 *   --instances  one, two and three processes on one PostgreSQL
 *   --jobs      the throughput of the queue of background jobs
 *   --revocation  the time until other processes reject a revoked key
 *   --routing  the CPU time to route a request among 500 candidates
 *   --tag-values  the latency of a report by a tag with a million values in a month, or with as many as `--rows` says
 *   --tracing  the CPU time that tracing or capturing every request adds, and guardrails and capture that are off
 *   --webhooks  the throughput of deliveries, and the effect of a dead endpoint on others
 *
 * `--dashboard-pages`, `--dashboard-queries`, `--tag-values` and `--webhooks` take `--postgres`, `--webhooks` `--sqlite`, to
 * measure that database only.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchAgainst } from './against.ts'
import { benchCanary } from './canary.ts'
import { benchDashboard, benchDashboardPages, benchDashboardQueries, benchTagValues } from './dashboard.ts'
import { benchFairness } from './fairness.ts'
import { benchHostileBodies } from './hostile-bodies.ts'
import { benchInstances } from './instances.ts'
import { benchJobs } from './jobs.ts'
import { benchRevocation } from './revocation.ts'
import { benchRouting } from './routing.ts'
import { benchTable } from './table.ts'
import { benchTracing } from './tracing.ts'
import { benchWebhooks } from './webhooks.ts'

const SINGLE: Readonly<Record<string, () => Promise<boolean>>> = {
  bodies: benchHostileBodies,
  canary: benchCanary,
  dashboard: benchDashboard,
  'dashboard-pages': benchDashboardPages,
  'dashboard-queries': benchDashboardQueries,
  fairness: benchFairness,
  instances: benchInstances,
  jobs: benchJobs,
  revocation: benchRevocation,
  routing: benchRouting,
  'tag-values': benchTagValues,
  tracing: benchTracing,
  webhooks: benchWebhooks,
}

const flag = { type: 'boolean', default: false } as const
const { values } = parseArgs({
  options: {
    guard: flag,
    json: flag,
    peers: flag,
    profile: flag,
    quick: flag,
    soak: flag,
    against: { type: 'string' },
    gateway: { type: 'string', multiple: true, default: [] },
    plot: { type: 'string' },
    // Of single measurements, which read them themselves.
    postgres: flag,
    sqlite: flag,
    rows: { type: 'string' },
    ...Object.fromEntries(Object.keys(SINGLE).map((name) => [name, flag])),
  },
})

// What is measured is what a clone runs.
execFileSync(process.execPath, [join(import.meta.dirname, '..', 'scripts', 'bundle.ts')], { stdio: ['ignore', 2, 2] })
process.once('SIGINT', () => process.exit(130)) // ends what was started

const { against, gateway: gateways, plot, ...flags } = values
const single = Object.keys(SINGLE).find((name) => Object.hasOwn(flags, name) && Reflect.get(flags, name) === true)
const measure = single === undefined ? undefined : SINGLE[single]
const holds = await (against !== undefined
  ? benchAgainst(against)
  : (measure?.() ?? benchTable({ ...flags, gateways, plot })))
process.exit(holds ? 0 : 1)
