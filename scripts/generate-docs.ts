/** Writes the documentation that is generated from the code. With `--check` it fails if a file differs, and writes nothing. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configJsonSchema } from '../src/config/schema.ts'
import { ERROR_CATALOGUE, type ErrorCode } from '../src/domain/errors.ts'
import { ERROR_TEXTS } from './error-texts.ts'
import { alertsYaml, dashboardJson } from './kit/grafana.ts'
import { membersPage } from './kit/members-page.ts'
import { providersPage } from './kit/providers-page.ts'
import { ROOT, report } from './source-files.ts'

const ERRORS_HEAD = `# Errors

Every error of the HTTP interface has one shape:

\`\`\`json
{
  "error": {
    "type": "invalid_request",
    "message": "messages[0].role is missing.",
    "code": "missing_field",
    "param": "messages[0].role",
    "request_id": "req_…",
    "doc_url": "/docs/errors#missing_field"
  }
}
\`\`\`

\`type\` and \`code\` are stable: programs compare them. \`message\` is for people and may change. \`param\` names the
parameter at fault. 429 and 503 have \`retry-after\` (whole seconds) and \`retry-after-ms\`; 429 also has
\`error.retry_after\`. Errors that a repeat cannot fix have \`x-should-retry: false\`. \`request_id\` equals the header
\`x-request-id\`; \`doc_url\` is the row of the code below, on this gateway. An error that is replayed for an
[\`Idempotency-Key\`](idempotency.md) keeps the \`request_id\` of the request that ran, while the header is that of the
repeat; in place of an answer that was lost with its process, it has the ID of the completion, as in \`completion_id\`.

A stream that fails after its first event ends with the event \`data: {"error": {"type": "upstream_error", …}}\`, whose
\`code\` is one of those below, and then \`data: [DONE]\`. The answer before it may be incomplete.

`

function errorsPage(): string {
  const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[]
  const rows = codes.map((code) => {
    const { status, type, retryable } = ERROR_CATALOGUE[code]
    const { meaning, action } = ERROR_TEXTS[code]
    return `| \`${code}\` | ${status} | \`${type}\` | ${retryable ? 'yes' : 'no'} | ${meaning} | ${action} |`
  })
  const table = ['| code | status | type | retry | meaning | what to do |', '|---|---|---|---|---|---|', ...rows]
  return `${ERRORS_HEAD}${table.join('\n')}\n`
}

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'deploy/grafana/turnpike-alerts.yaml': alertsYaml,
  'deploy/grafana/turnpike-dashboard.json': dashboardJson,
  'docs/errors.md': errorsPage,
  'docs/members.md': membersPage,
  'docs/providers.md': providersPage,
  // As `turnpike config schema` prints it.
  'turnpike.schema.json': () => `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`,
}

const findings: string[] = []
for (const [path, page] of Object.entries(PAGES)) {
  const file = join(ROOT, path)
  const wanted = await page()
  if (existsSync(file) && readFileSync(file, 'utf8') === wanted) continue
  if (process.argv.includes('--check')) findings.push(`${path}:1: differs from the code; run npm run generate:docs`)
  else writeFileSync(file, wanted)
}
report('documentation', findings)
