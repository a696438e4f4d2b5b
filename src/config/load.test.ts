import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import type { Environment } from './environment.ts'
import { type ConfigFlags, loadConfig } from './load.ts'
import type { Config } from './schema.ts'
import { ConfigError } from './source-tree.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-config-'))
after(() => rmSync(folder, { recursive: true }))

const BUILT_IN = {
  builtInProviders: ['openai', 'anthropic', 'google', 'deepseek', 'openrouter', 'simulator'],
  providerVariables: { OPENAI_API_KEY: 'openai', GEMINI_API_KEY: 'google' },
}

interface Given {
  readonly yaml?: string
  readonly env?: Environment
  readonly dotEnv?: string
  readonly flags?: ConfigFlags
}

/** Each in its own folder. */
function load({ yaml, env = {}, dotEnv, flags }: Given): Promise<Config> {
  const cwd = mkdtempSync(join(folder, 'case-'))
  if (yaml !== undefined) writeFileSync(join(cwd, 'turnpike.yaml'), yaml)
  if (dotEnv !== undefined) writeFileSync(join(cwd, '.env'), dotEnv)
  return loadConfig({ env, cwd, builtIn: BUILT_IN, ...(flags === undefined ? {} : { flags }) })
}

async function problemsOf(given: Given): Promise<readonly string[]> {
  try {
    await load(given)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
  throw new assert.AssertionError({ message: 'a bad configuration was accepted' })
}

const TIMEOUTS = { connect: 5_000, idle: 120_000, total: 1_800_000 }

test('without file and environment the defaults hold', async () => {
  const config = await load({})
  assert.deepEqual(config.server, {
    host: '127.0.0.1',
    port: 7575,
    processes: 1,
    public_url: 'http://localhost:7575',
    trust_proxy: [],
    body_limit_bytes: 33_554_432,
    drain_ms: 600_000,
    drain_delay_ms: 0,
    cors_origins: [],
    metrics_open: false,
  })
  assert.match(config.data_dir, /case-\w+\/turnpike-data$/)
  assert.equal(config.log_level, 'info')
  assert.equal(config.file, undefined)
  assert.equal(config.database_url, undefined)
  const on = { overloaded: true, server_error: true, timeout: true, connection: true }
  assert.deepEqual(config.routing, {
    max_attempts: 3,
    retry_budget: 0.2,
    breaker: { failures: 5, open_ms: 30_000 },
    fallback_on: { ...on, context_length: true, content_filter: true, unavailable: true },
    policies: [],
  })
  assert.deepEqual(
    { ...config.plans },
    {
      free: {
        monthly_credit_usd: 5,
        requests_per_minute: 20,
        tokens_per_minute: 40_000,
        max_in_flight: 8,
        billing: 'prepaid',
      },
      pro: { requests_per_minute: 600, tokens_per_minute: 1_000_000, max_in_flight: 500, billing: 'prepaid' },
      unlimited: { requests_per_minute: 6_000, max_in_flight: 5_000, billing: 'postpaid' },
    },
  )
  assert.equal(config.accounts.default_plan, 'unlimited')
})

test('the example of the documentation is a valid file', async () => {
  const document = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const examples = [...document.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml)
  const example = examples.find((yaml) => yaml.includes('api_keys:'))
  const config = await load({ yaml: example ?? 'missing', env: { KEY_A: 'a', KEY_B: 'b' } })
  assert.deepEqual(config.providers['shared']?.api_keys, ['a', 'b'])
})

test('a file of every section is read as it is written', async () => {
  const yaml = `
server: { host: 0.0.0.0, port: 8080, public_url: "https://ai.example.com/", trust_proxy: ["10.0.0.0/8"], body_limit_bytes: 33554432, drain_ms: 600000, drain_delay_ms: 0, cors_origins: [], metrics_port: 9090 }
database_url: "\${DATABASE_URL:-}"
redis_url: "\${REDIS_URL:-}"
providers:
  openai:    { protocol: openai,    api_key: "\${OPENAI_API_KEY}" }
  anthropic: { protocol: anthropic, api_key: "\${ANTHROPIC_API_KEY}" }
  google:    { protocol: gemini,    api_key: "\${GEMINI_API_KEY}" }
  local:     { protocol: openai,    base_url: "http://10.1.2.3:8000/v1", timeout_ms: { connect: 2000, first_byte: 60000, idle: 60000, total: 600000 } }
  shared: { kind: openai, api_keys: ["\${KEY_A}", "\${KEY_B}"], max_in_flight: 200, on_disconnect: cancel }
  simulator: { protocol: simulator }
models:
  - id: our-coder
    owned_by: local
    capabilities: { streaming: true, function_calling: true, vision: false, json_mode: true }
    context_window: 131072
    max_output_tokens: 8192
    pricing: { input_per_million: 0.27, output_per_million: 1.10, cached_input_per_million: 0.07 }
    deployments:
      - { provider: local, model: "qwen3-coder", priority: 0, weight: 3 }
      - { provider: openrouter, model: "qwen/qwen3-coder", priority: 1 }
routing: { max_attempts: 3, retry_budget: 0.2, breaker: { failures: 5, open_ms: 30000 } }
plans:
  free: { monthly_credit_usd: 7.5 }
  team: { requests_per_minute: 50 }
ledger: { outage_exposure_usd: 0 }
streams: { keep_ms: 600000, grace_ms: 15000 }
responses: { store: false, retention_days: 30, max_bytes: 4194304 }
accounts: { default_plan: team }
auth:
  providers: [ { kind: oidc, name: "Example", issuer: "https://login.example.com", client_id: us, client_secret: "\${OIDC_SECRET}", allowed_domains: [example.com] } ]
  clients: [ { id: our-ide, name: "Our IDE" } ]
webhooks: { allow_private_networks: false }
agents: { git_url: "https://github.com/{repository}.git", model: our-coder, concurrency: 2, allow_local_git: false,
  sandbox: { backend: bubblewrap, network: [] },
  git_credentials: [ { accounts: [acc_1], repositories: ["example/*"], token: "\${GIT_TOKEN}" } ] }
`
  const names = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'KEY_A', 'KEY_B', 'OIDC_SECRET', 'GIT_TOKEN']
  const config = await load({ yaml, env: Object.fromEntries(names.map((name) => [name, `value of ${name}`])) })
  assert.equal(config.server.public_url, 'https://ai.example.com')
  assert.equal(config.server.metrics_port, 9090)
  assert.equal(config.database_url, undefined)
  assert.deepEqual(config.providers['openai'], {
    protocol: 'openai',
    api_key: 'value of OPENAI_API_KEY',
    timeout_ms: TIMEOUTS,
  })
  assert.equal(config.providers['local']?.timeout_ms.total, 600_000)
  assert.equal(config.providers['local']?.api_key, undefined)
  assert.deepEqual(config.models[0]?.deployments, [
    { provider: 'local', model: 'qwen3-coder', priority: 0, weight: 3 },
    { provider: 'openrouter', model: 'qwen/qwen3-coder', priority: 1, weight: 1 },
  ])
  assert.equal(config.models[0]?.pricing?.output_per_million, 1.1)
  assert.equal(config.plans['free']?.monthly_credit_usd, 7.5)
  assert.equal(config.plans['free']?.requests_per_minute, 20)
  assert.deepEqual(config.plans['team'], { requests_per_minute: 50, max_in_flight: 500, billing: 'prepaid' })
  assert.equal(config.auth.providers[0]?.client_secret, 'value of OIDC_SECRET')
  assert.equal(config.agents.git_credentials[0]?.token, 'value of GIT_TOKEN')
})

test('processes are a number or auto, in the file and as a flag', async () => {
  const processes = async (given: Given) => (await load(given)).server.processes
  assert.equal(await processes({ yaml: 'server: { processes: 4 }' }), 4)
  assert.equal(await processes({ yaml: 'server: { processes: auto }' }), 'auto')
  assert.equal(await processes({ yaml: 'server: { processes: 4 }', flags: { processes: 'auto' } }), 'auto')
  assert.equal(await processes({ flags: { processes: '3' } }), 3)
  const allowed = 'allowed: a whole number from 1 to 64, or auto'
  assert.deepEqual(await problemsOf({ flags: { processes: '0' } }), [
    `--processes: server.processes: found "0", ${allowed}`,
  ])
  assert.deepEqual(await problemsOf({ yaml: 'server: { processes: [2] }' }), [
    `turnpike.yaml:1:22: server.processes: found a list, ${allowed}`,
  ])
})

test('the environment wins over .env, .env over the file, flags over all', async () => {
  const yaml = 'server: { host: 1.1.1.1, port: 1 }\nlog_level: warn'
  assert.equal((await load({ yaml })).server.port, 1)
  assert.equal((await load({ yaml, dotEnv: 'PORT=2' })).server.port, 2)
  assert.equal((await load({ yaml, dotEnv: 'PORT=2', env: { PORT: '3' } })).server.port, 3)
  const config = await load({ yaml, env: { PORT: '3', HOST: '2.2.2.2' }, flags: { port: 4, host: '::1' } })
  assert.deepEqual([config.server.port, config.server.host, config.log_level], [4, '::1', 'warn'])
  assert.equal(config.server.public_url, 'http://localhost:4')
})

test('every environment variable sets its setting', async () => {
  const config = await load({
    env: {
      TURNPIKE_DATA_DIR: '/var/lib/turnpike',
      HOST: '0.0.0.0',
      PORT: '80',
      TURNPIKE_PUBLIC_URL: 'https://x.example/',
      DATABASE_URL: 'postgres://h/d',
      REDIS_URL: 'redis://h',
      TURNPIKE_SECRET: 's'.repeat(32),
      LOG_LEVEL: 'debug',
    },
  })
  assert.equal(config.data_dir, '/var/lib/turnpike')
  assert.deepEqual([config.server.host, config.server.port], ['0.0.0.0', 80])
  assert.equal(config.server.public_url, 'https://x.example')
  assert.deepEqual([config.database_url, config.redis_url], ['postgres://h/d', 'redis://h'])
  assert.deepEqual([config.secret, config.log_level], ['s'.repeat(32), 'debug'])
})

test('empty means not set, in the environment and in the file', async () => {
  const config = await load({ yaml: 'redis_url: ""\nserver: { port: , host: "" }', env: { PORT: '', HOST: '' } })
  assert.equal(config.redis_url, undefined)
  assert.deepEqual([config.server.port, config.server.host], [7575, '127.0.0.1'])
})

test('a filled-in text becomes the number or switch that is wanted, a quoted one does not', async () => {
  const yaml = `server: { port: "\${P}" }\nwebhooks: { allow_private_networks: "\${W:-true}" }`
  const config = await load({ yaml, env: { P: '81' } })
  assert.deepEqual([config.server.port, config.webhooks.allow_private_networks], [81, true])
  assert.deepEqual(await problemsOf({ yaml: 'server: { port: "81" }' }), [
    'turnpike.yaml:1:17: server.port: found "81", allowed: a whole number from 0 to 65535',
  ])
})

test('a variable switches its provider on, and completes one that has no key', async () => {
  const env = { OPENAI_API_KEY: 'sk-env' }
  const keyOf = async (yaml: string) => (await load({ yaml, env })).providers['openai']
  assert.deepEqual(await keyOf(''), { api_key: 'sk-env', timeout_ms: TIMEOUTS })
  assert.equal((await keyOf('providers: { openai: }'))?.api_key, 'sk-env')
  assert.equal((await keyOf('providers: { openai: { base_url: "http://x" } }'))?.api_key, 'sk-env')
  assert.equal((await keyOf('providers: { openai: { api_key: "" } }'))?.api_key, 'sk-env')
  assert.equal((await keyOf('providers: { openai: { api_key: sk-file } }'))?.api_key, 'sk-file')
  assert.equal((await keyOf('providers: { openai: { api_keys: [sk-file] } }'))?.api_key, undefined)
  assert.equal((await load({ env: { OPENAI_API_KEY: '' } })).providers['openai'], undefined)
})

test("a provider of a kind gets that kind's key, but never when it has an address of its own", async () => {
  const yaml = 'providers: { mine: { kind: openai }, other: { kind: openai, base_url: "http://10.0.0.1" } }'
  const { providers } = await load({ yaml, env: { OPENAI_API_KEY: 'sk-env' } })
  assert.equal(providers['mine']?.api_key, 'sk-env')
  assert.equal(providers['other']?.api_key, undefined)
})

test('a named file that is missing is an error, whoever named it', async () => {
  assert.deepEqual(await problemsOf({ env: { TURNPIKE_CONFIG: './no.yaml' } }), ['./no.yaml: there is no such file'])
  assert.deepEqual(await problemsOf({ flags: { config: 'no.yaml' } }), ['no.yaml: there is no such file'])
  assert.deepEqual(await problemsOf({ flags: { config: '.' } }), ['.: cannot be read (EISDIR)'])
})

test('every problem is told, each with its line, in the order of the file', async () => {
  const yaml = `server: { prot: 1, port: 70000, host: "a b" }
providers:
  opnai: { timeout_ms: { conect: 1 } }
  Foo: {}
log_level: inf
accounts: 5
models: [ { pricing: { input_per_million: -1, output_per_million: 0.0000001 } } ]
`
  const problems = await problemsOf({ yaml, env: { PORT: 'http' } })
  assert.deepEqual(
    problems.map((problem) => problem.split(', allowed')[0]),
    [
      'environment: PORT: server.port: found "http"',
      'turnpike.yaml:1:11: server.prot: found an unknown name, did you mean "port"?',
      'turnpike.yaml:1:39: server.host: found "a b"',
      'turnpike.yaml:3:26: providers.opnai.timeout_ms.conect: found an unknown name, did you mean "connect"?',
      'turnpike.yaml:4:3: providers: found the name "Foo"',
      'turnpike.yaml:5:12: log_level: found "inf"',
      'turnpike.yaml:6:11: accounts: found 5',
      'turnpike.yaml:7:11: models[0].id: found nothing, but it is required; allowed: a text of at most 500 printable characters',
      'turnpike.yaml:7:43: models[0].pricing.input_per_million: found -1',
      'turnpike.yaml:7:67: models[0].pricing.output_per_million: found 1e-7',
    ],
  )
})

test('a whole tariff is written in the file, and what is wrong in it is named by its place', async () => {
  const pricing = (more: string) => `
models:
  - id: m
    deployments: [ { provider: openai, model: x } ]
    pricing:
      input_per_million: 2
      output_per_million: 8
${more}
`
  const config = await load({
    yaml: pricing(`      tiers:
        - { above_prompt_tokens: 200000, input_per_million: 4, cached_input_per_million: 0.4 }
        - { above_prompt_tokens: 400000, applies_to: excess, input_per_million: 8 }
      service_tiers: { flex: { input_per_million: 1, tiers: [] } }
      discounts: [ { from: 16:30, until: 00:30, input_per_million: 1 } ]
      per_image_usd: 0.000000129
      server_tools: { web_search: 10 }
      ends: 2026-12-31
      successors: [ { input_per_million: 3, output_per_million: 9, starts: "2027-01-01T08:00:00Z" } ]`),
  })
  assert.deepEqual(JSON.parse(JSON.stringify(config.models[0]?.pricing)), {
    input_per_million: 2,
    output_per_million: 8,
    tiers: [
      { above_prompt_tokens: 200_000, applies_to: 'request', input_per_million: 4, cached_input_per_million: 0.4 },
      { above_prompt_tokens: 400_000, applies_to: 'excess', input_per_million: 8 },
    ],
    service_tiers: { flex: { input_per_million: 1, tiers: [] } },
    discounts: [{ from: '16:30', until: '00:30', input_per_million: 1 }],
    per_image_usd: 0.000000129,
    server_tools: { web_search: 10 },
    ends: '2026-12-31',
    successors: [{ input_per_million: 3, output_per_million: 9, starts: '2027-01-01T08:00:00Z' }],
  })
  const wrong = load({
    yaml: pricing(`      per_image_usd: 0.0000000001
      tiers: [ { input_per_million: 4, applies_to: all } ]
      discounts: [ { from: 24:00, until: 00:30 } ]
      server_tools: { web_search: 0.0000001 }
      ends: soon`),
  })
  await assert.rejects(wrong, (error: Error) => {
    for (const place of [
      'per_image_usd: found 1e-10, allowed: a number with at most 9 decimals',
      'tiers[0].above_prompt_tokens: found nothing',
      'tiers[0].applies_to: found "all"',
      'discounts[0].from: found "24:00"',
      'server_tools.web_search: found 1e-7',
      'ends: found "soon"',
    ])
      assert.ok(error.message.includes(`models[0].pricing.${place}`), `${place} in ${error.message}`)
    return true
  })
})

test('settings that do not fit each other are told where they stand', async () => {
  const yaml = `providers:
  opnai: {}
  deepsek: { kind: deepsek }
  openai: { api_key: a, api_keys: [b] }
models:
  - { id: a, deployments: [ { provider: openruter, model: x } ] }
  - { id: b, aliases: [a] }
accounts: { default_plan: gold }
auth: { providers: [ { kind: oidc, name: x, client_id: y, client_secret: z } ] }
agents: { git_url: "http://10.0.0.1/{repository}" }
database_url: postgres://h/d
`
  const problems = await problemsOf({ yaml })
  const expected = [
    /^turnpike.yaml:11:15: database_url: found without secret/,
    /^turnpike.yaml:2:10: providers.opnai: .* without protocol and base_url \(did you mean "openai"\?\)/,
    /^turnpike.yaml:3:20: providers.deepsek.kind: found "deepsek", .*did you mean "deepseek"\?/,
    /^turnpike.yaml:4:35: providers.openai.api_keys: found beside api_key/,
    /^turnpike.yaml:6:41: models\[0\].deployments\[0\].provider: found "openruter", .*did you mean "openrouter"\?/,
    /^turnpike.yaml:7:24: models\[1\].aliases\[0\]: found "a" a second time/,
    /^turnpike.yaml:8:27: accounts.default_plan: found "gold", allowed: free, pro, unlimited/,
    /^turnpike.yaml:9:22: auth.providers\[0\].issuer: found nothing, but it is required/,
    /^turnpike.yaml:10:20: agents.git_url: found an address that is not https/,
  ]
  assert.equal(problems.length, expected.length, problems.join('\n'))
  for (const pattern of expected)
    assert.ok(
      problems.some((problem) => pattern.test(problem)),
      `${pattern}\n${problems.join('\n')}`,
    )
})

test('a provider that is not built in needs both protocol and base_url', async () => {
  assert.match((await problemsOf({ yaml: 'providers: { zzz: { protocol: openai } }' })).join(), /without base_url; it/)
  assert.match(
    (await problemsOf({ yaml: 'providers: { zzz: { base_url: "http://x" } }' })).join(),
    /without protocol; it/,
  )
  await load({ yaml: 'providers: { zzz: { protocol: openai, base_url: "http://x" }, sim: { protocol: simulator } }' })
})

test('what YAML itself refuses is told with its line', async () => {
  const first = async (yaml: string) => (await problemsOf({ yaml }))[0] ?? ''
  assert.match(await first('server: [\n'), /^turnpike.yaml:\d+:\d+: not valid YAML: /)
  assert.match(await first('log_level: info\nlog_level: warn'), /^turnpike.yaml:2:1: log_level: found a second time/)
  assert.match(await first('1: x'), /^turnpike.yaml:1:1: found the name 1, allowed: texts as names/)
  assert.match(await first('? [a]\n: x'), /found a name that is not a text/)
  assert.match(await first('- a'), /^turnpike.yaml:1:1: found a list, allowed: a mapping/)
  assert.match(await first('--- {}\n--- {}'), /^turnpike.yaml:2:1: found a second document/)
  assert.match(await first('server: *none'), /found the alias \*none/)
  assert.match(await first('server: !secret x'), /^turnpike.yaml:1:9: not valid YAML: Unresolved tag/)
  assert.match(await first(`providers: { openai: { api_key: \${X} } }`), /inside \{ \} or \[ \] must be in quotes/)
})

test('an anchor may be used again, but not to make a bomb or a circle', async () => {
  const yaml = `providers:
  one: &one { protocol: openai, base_url: "http://a" }
  two: *one`
  assert.equal((await load({ yaml })).providers['two']?.base_url, 'http://a')
  const bomb = ['a: &x0 [1]', ...Array.from({ length: 9 }, (_, i) => `b${i}: &x${i + 1} [${`*x${i},`.repeat(10)}]`)]
  assert.match((await problemsOf({ yaml: bomb.join('\n') })).join('\n'), /too many aliases/)
  assert.match((await problemsOf({ yaml: 'models: &m [ *m ]' })).join('\n'), /too many aliases or too deep/)
})

test('no secret appears in a message', async () => {
  const secret = 'sk-very-secret'
  const yaml = `providers:
  openai: { api_key: [${secret}], api_keys: ${secret} }
  other: { base_url: "https://me:${secret}@host/v1" }
database_url: "mysql://me:${secret}@host"
secret: ${secret}
server: { port: "\${TOKEN}" }
auth: { providers: [ { client_secret: { a: ${secret} } } ] }
`
  const text = (await problemsOf({ yaml, env: { TOKEN: secret, TURNPIKE_SECRET: secret, REDIS_URL: secret } })).join(
    '\n',
  )
  assert.equal(text.includes(secret), false, text)
  assert.match(
    text,
    /environment: TURNPIKE_SECRET: secret: found a text \(not shown\), allowed: a text of at least 32 bytes/,
  )
  assert.match((await problemsOf({ yaml: `a: "${secret}` })).join(), /not valid YAML/)
  assert.equal((await problemsOf({ yaml: `a: "x" ${secret}` })).join().includes(secret), false)
})

test('a missing variable is told with the line and the setting', async () => {
  assert.deepEqual(await problemsOf({ yaml: `providers:\n  openai:\n    api_key: \${NO_SUCH}` }), [
    `turnpike.yaml:3:14: providers.openai.api_key: found \${NO_SUCH}, but NO_SUCH is not set in the environment; set it, or write \${NO_SUCH:-default}`,
  ])
  assert.match((await problemsOf({ yaml: `redis_url: \${constructor}` })).join(), /constructor is not set/)
})

test('names that every object has are neither providers nor plans', async () => {
  const { providers, plans } = await load({})
  assert.equal(providers['constructor'], undefined)
  assert.equal(plans['toString'], undefined)
  assert.match((await problemsOf({ yaml: 'accounts: { default_plan: constructor }' })).join(), /found "constructor"/)
  assert.match((await problemsOf({ yaml: '__proto__: { a: 1 }' })).join(), /__proto__: found an unknown name/)
})

test('the configuration is frozen to its depths', async () => {
  const config = await load({ yaml: 'models: [ { id: a } ]' })
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  assert.ok(isFrozen(config))
})

test('whatever the file holds, it is accepted or refused with problems, never by another exception', async () => {
  const words = fc.constantFrom(
    'server',
    'providers',
    'models',
    'openai',
    'port',
    'id',
    `\${A}`,
    '&a',
    '*a',
    '? ',
    '- ',
  )
  const marks = fc.constantFrom(': ', '\n', '  ', '{', '}', '[', ']', ',', '"', "'", '\t', '#', '|', '\u0000', '1', 'é')
  const text = fc.array(fc.oneof(words, marks, fc.string({ maxLength: 4 })), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(text, async (parts) => {
      const outcome = await load({ yaml: parts.join('') }).catch((error: unknown) => error)
      if (outcome instanceof ConfigError) assert.ok(outcome.problems.length > 0)
      else assert.ok(!(outcome instanceof Error), String(outcome))
    }),
    { numRuns: 300 },
  )
})

test('exports to the same address, half a key and folders with an endpoint are refused, with their place', async () => {
  const yaml = `exports:
  - { name: Lake, url: "https://bucket" }
  - { name: lake, url: s3://Bucket, every_minutes: 0 }`
  assert.deepEqual(await problemsOf({ yaml }), [
    'turnpike.yaml:2:13: exports[0].name: found "Lake", allowed: lower-case letters, digits, dots, hyphens and underscores',
    'turnpike.yaml:2:24: exports[0].url: found "https://bucket", allowed: an address such as s3://bucket/prefix or file:///folder',
    'turnpike.yaml:3:24: exports[1].url: found "s3://Bucket", allowed: an address such as s3://bucket/prefix or file:///folder',
    'turnpike.yaml:3:52: exports[1].every_minutes: found 0, allowed: a whole number from 1 to 1440',
  ])
  const crossed = `exports:
  - { name: lake, url: s3://bucket/, access_key_id: AKID }
  - { name: lake, url: s3://bucket }
  - { name: local, url: file:///srv/lake, endpoint: https://minio.example.com }`
  assert.deepEqual(await problemsOf({ yaml: crossed }), [
    'turnpike.yaml:2:53: exports[0].access_key_id: found one of access_key_id and secret_access_key, allowed: both or none',
    'turnpike.yaml:3:13: exports[1].name: found "lake" a second time, allowed: once',
    'turnpike.yaml:3:24: exports[1].url: found "s3://bucket" a second time, allowed: once',
    'turnpike.yaml:4:53: exports[2].endpoint: found beside a file:// address, allowed: only with s3://',
  ])
})

test('an export without a region has that of AWS_REGION, and its secret may be in a file', async () => {
  const path = join(folder, 'storage-secret')
  writeFileSync(path, 'hidden\n')
  const yaml = `exports:
  - { name: lake, url: s3://bucket, access_key_id: AKID, secret_access_key_file: ${path} }
  - { name: local, url: file:///srv/lake }`
  const { exports } = await load({ yaml, env: { AWS_REGION: 'eu-west-1' } })
  const [lake, local] = exports
  assert.deepEqual([lake?.region, lake?.secret_access_key, lake?.every_minutes], ['eu-west-1', 'hidden', 15])
  assert.equal(local?.region, undefined)
})
