import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { Client } from 'pg'
import { parse } from 'yaml'
import { CATALOGUE } from '../../../catalogue/index.ts'
import {
  environmentOf,
  locationFor,
  postgresTest,
  temporaryDatabase,
  temporaryLocation,
} from '../../../test/support/database.ts'
import { runCommandHere } from '../../../test/support/process/command-in-process.ts'
import { pythonWith } from '../../../test/support/process/python-environment.ts'
import { loadConfig } from '../../config/load.ts'
import { budgetStatuses } from '../../features/credit/budgets/store.ts'
import { reconcile } from '../../features/credit/reconcile.ts'
import { createAuthenticator } from '../../features/keys/authenticator.ts'
import { buildModelBook } from '../../features/models/book.ts'
import { builtIn } from '../configuration.ts'

/** The wheels have sample configurations, and the migrations of the database. */
const LITELLM = ['--no-deps', 'litellm==1.110.2', 'litellm-proxy-extras==0.4.110']

async function folderOf(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-import-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  const location = await locationFor(t, dataDir)
  const env = { PATH: '', NO_COLOR: '1', TURNPIKE_DATA_DIR: dataDir, ...environmentOf(location), ...environment }
  const turnpike = (...words: string[]) => runCommandHere(words, { cwd: folder, env })
  const write = async (name: string, content: unknown) => {
    const file = join(folder, name)
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }
  /** Imports a file, and returns its configuration and report. */
  const imported = async (source: string, file: string, ...words: string[]) => {
    const { code, out, error } = await turnpike('import', source, file, '--json', ...words)
    assert.equal(code, 0, error)
    const report = JSON.parse(out)
    return { ...report, config: report.config === undefined ? undefined : parse(report.config) }
  }
  return { folder, location, env, turnpike, write, imported }
}

type Report = { findings: { status: string; subject: string; text: string }[] }

function finding(report: Report, status: string, subject: string): string {
  const found = report.findings.find((each) => each.status === status && each.subject === subject)
  assert.ok(found, `${status} ${subject} in ${JSON.stringify(report.findings, null, 1)}`)
  return found.text
}

test("LiteLLM's own sample configurations become configurations that pass the check", async (t) => {
  const python = await pythonWith(LITELLM)
  const [proxy = ''] = globSync(join(python, '../../lib/python3*/site-packages/litellm/proxy'))
  const samples = [...globSync(join(proxy, '*.yaml')), ...globSync(join(proxy, 'example_config_yaml/*.yaml'))]
  const { folder, turnpike, env } = await folderOf(t)
  let models = 0
  for (const [index, sample] of samples.entries()) {
    if (!/^model_list:/m.test(await readFile(sample, 'utf8'))) continue
    const output = join(folder, `sample-${index}.yaml`)
    const { code, error } = await turnpike('import', 'litellm', sample, '--output', output)
    assert.equal(code, 0, `${sample}: ${error}`)
    assert.doesNotMatch(error, /Correct this line/, sample)
    const text = await readFile(output, 'utf8')
    const variables = [...text.matchAll(/(?<!\$)\$\{(\w+)\}/g)].map(([, name = '']) => [name, sampleValue(name)])
    const full = { ...env, ...Object.fromEntries(variables) }
    const checked = await runCommandHere(['config', 'check', output], { cwd: folder, env: full })
    assert.deepEqual([checked.code, checked.error], [0, ''], `${sample}\n${text}`)
    const config = await loadConfig({ env: full, cwd: folder, builtIn: builtIn(), flags: { config: output } })
    const providers = new Set(Object.keys(config.providers))
    const book = buildModelBook({ catalogue: CATALOGUE, models: config.models, providers, now: Date.now })
    for (const { id } of config.models) assert.ok(book.find(id), `${sample}: ${id}`)
    models += config.models.length
  }
  assert.ok(models >= 60, `the samples have ${models} models`)
})

function sampleValue(name: string): string {
  if (name.endsWith('PORT')) return '6379'
  return name.endsWith('HOST') ? 'localhost' : 'https://example.com'
}

const LITELLM_CONFIG = `
model_list:
  - model_name: fast
    litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY, rpm: 30 }
  - model_name: fast
    litellm_params: { model: azure/mini-eu, api_key: os.environ/AZURE_API_KEY, api_base: "https://eu.openai.azure.com", api_version: "2024-10-21", rpm: 10 }
  - model_name: own
    litellm_params: { model: openai/llama-4, api_base: "http://gpu.example.com:8000/v1", api_key: none, input_cost_per_token: 1.5e-7, output_cost_per_token: "6e-7" }
    model_info: { max_input_tokens: 32768, supports_function_calling: true }
  - model_name: vectors
    litellm_params: { model: voyage/voyage-4-large, api_key: os.environ/VOYAGE_API_KEY }
    model_info: { mode: embedding }
  - model_name: pictures
    litellm_params: { model: openai/dall-e-3 }
    model_info: { mode: image_generation }
router_settings:
  routing_strategy: usage-based-routing-v2
  model_group_alias: { gpt-quick: fast }
  fallbacks: [{ fast: [own] }]
  context_window_fallbacks: [{ own: [fast, missing] }]
  num_retries: 2
litellm_settings: { cache: true, drop_params: true }
general_settings: { master_key: sk-1234 }
`

test('models, weights, prices, aliases and fallbacks of LiteLLM are taken over, the rest is reported', async (t) => {
  const { write, imported } = await folderOf(t, { OPENAI_API_KEY: 'a', AZURE_API_KEY: 'b', VOYAGE_API_KEY: 'c' })
  const report = await imported('litellm', await write('litellm.yaml', LITELLM_CONFIG))
  const { providers, models, routing } = report.config
  assert.deepEqual(providers.openai, { api_key: `\${OPENAI_API_KEY}` })
  assert.deepEqual(providers.azure, {
    base_url: 'https://eu.openai.azure.com',
    api_key: `\${AZURE_API_KEY}`,
    api_version: '2024-10-21',
  })
  const host = { protocol: 'openai', base_url: 'http://gpu.example.com:8000/v1', api_key: 'none' }
  assert.deepEqual(providers['gpu-example-com'], host)
  const [fast, own, vectors] = models
  assert.deepEqual(fast.deployments, [
    { provider: 'openai', model: 'gpt-5-mini', weight: 30 },
    { provider: 'azure', model: 'mini-eu', weight: 10 },
  ])
  assert.deepEqual([fast.aliases, fast.fallbacks, own.fallbacks], [['gpt-quick'], ['own'], ['fast']])
  assert.equal(fast.pricing.input_per_million > 0, true)
  assert.deepEqual(own.pricing, { input_per_million: 0.15, output_per_million: 0.6 })
  assert.equal(own.context_window, 32_768)
  assert.equal(vectors.kind, 'embedding')
  assert.deepEqual(routing, { max_attempts: 3 })
  assert.equal(models.length, 3)
  assert.match(finding(report, 'no_equal', 'model_list: pictures'), /image_generation/)
  assert.match(finding(report, 'no_equal', 'context_window_fallbacks: own'), /missing/)
  assert.match(finding(report, 'no_equal', 'router_settings.routing_strategy'), /usage-based/)
  finding(report, 'no_equal', 'general_settings.master_key')
  finding(report, 'no_equal', 'litellm_settings.cache')
})

/** Makes the tables with LiteLLM's own migrations. */
async function migrateLitellm(client: Client): Promise<void> {
  const python = await pythonWith(LITELLM)
  const folder = 'lib/python3*/site-packages/litellm_proxy_extras/migrations'
  const migrations = globSync(join(python, '../..', folder, '*/migration.sql')).sort()
  assert.ok(migrations.length > 200)
  for (const migration of migrations) await client.query(await readFile(migration, 'utf8'))
}

postgresTest("LiteLLM's keys keep working after an import, which can be repeated", async (t) => {
  const source = await temporaryLocation(t)
  const client = new Client({ connectionString: source })
  await client.connect()
  await migrateLitellm(client)
  const secret = 'sk-Tq3b0Yx8mEoT5sNvK9wLzA'
  const token = hash('sha256', secret)
  const hashOf = (text: string) => hash('sha256', text)
  await client.query(`
    insert into "LiteLLM_BudgetTable" (budget_id, max_budget, budget_duration, model_max_budget, created_by, updated_by, updated_at)
      values ('b1', 2, '1d', '{"fast": {"budget_limit": 1}}', 'default_user_id', 'default_user_id', now());
    insert into "LiteLLM_TeamTable" (team_id, team_alias, models, spend, rpm_limit, max_budget, budget_duration, blocked)
      values ('t1', 'search', '{fast}', 3.25, 60, 90, '90d', false), ('t2', 'closed', '{}', 0, null, null, null, true);
    insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, team_id, models, rpm_limit, budget_id, spend, metadata)
      values ('${token}', 'sk-...wLzA', 'crawler', 't1', '{all-team-models}', 20, 'b1', 3.25, '{"guardrails": ["presidio"]}'),
        ('${hashOf('sk-e')}', 'sk-...vvvv', 'of a blocked team', 't2', '{}', null, null, 0, '{}');
    insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, max_budget, spend, total_spend, blocked, expires)
      values ('${hashOf('sk-f')}', 'sk-...uuuu', 'spent', 1, 1, 1, null, null),
        ('${hashOf('sk-b')}', 'sk-...xxxx', null, null, 0.25, 0.5, null, null),
        ('${hashOf('sk-c')}', 'sk-...yyyy', 'stopped', null, 0, 0, true, null),
        ('${hashOf('sk-d')}', 'sk-...zzzz', 'old', null, 0, 0, null, '2020-01-01');
    insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, key_type, allowed_routes)
      values ('${hashOf('sk-g')}', 'sk-...gggg', 'reader', 'read_only', '{info_routes}');
    insert into "LiteLLM_ProxyModelTable" (model_id, model_name, litellm_params, created_by, updated_by)
      values ('m1', 'stored', '{}', 'default_user_id', 'default_user_id');
    insert into "LiteLLM_OrganizationTable" (organization_id, organization_alias, budget_id, created_by, updated_by)
      values ('o1', 'sales', 'b1', 'default_user_id', 'default_user_id');
    insert into "LiteLLM_UserTable" (user_id, user_email, max_budget)
      values ('u1', 'ada@example.com', 5), ('u2', 'bob@example.com', null);
    insert into "LiteLLM_EndUserTable" (user_id, budget_id, blocked) values ('acme', 'b1', false)`)
  await client.end()
  const { location, write, imported } = await folderOf(t, {
    OPENAI_API_KEY: 'a',
    AZURE_API_KEY: 'b',
    VOYAGE_API_KEY: 'c',
  })
  const file = await write('litellm.yaml', LITELLM_CONFIG)
  const dry = await imported('litellm', file, '--database-url', source)
  assert.equal(dry.applied, null)
  const report = await imported('litellm', file, '--database-url', source, '--apply')
  assert.deepEqual(report.applied, { keys: 2, teams: 1, entries: 3, existing: 0 })
  assert.match(finding(report, 'changed', 'team: search'), /\$90 in 90d became \$30/)
  finding(report, 'no_equal', 'key: of a blocked team')
  assert.match(finding(report, 'no_equal', 'key: spent'), /budget is spent/)
  finding(report, 'no_equal', 'key: stopped')
  finding(report, 'no_equal', 'key: old')
  assert.match(finding(report, 'no_equal', 'key: reader'), /It may only call info_routes\./)
  assert.match(finding(report, 'no_equal', 'key: crawler'), /model_max_budget, guardrails/)
  for (const subject of [
    'model in the database: stored',
    'organization: sales',
    'user: ada@example.com',
    'end user: acme',
  ])
    finding(report, 'no_equal', subject)
  assert.equal(report.findings.filter(({ subject }: { subject: string }) => subject.startsWith('user: ')).length, 1)
  const again = await imported('litellm', file, '--database-url', source, '--apply')
  assert.deepEqual(again.applied, { keys: 0, teams: 0, entries: 0, existing: 6 })

  const { db, batch, onChange } = await temporaryDatabase(t, location)
  const authenticator = createAuthenticator({ db, batch, onChange, now: Date.now })
  const caller = await authenticator.authenticate(`Bearer ${secret}`, '127.0.0.1')
  assert.deepEqual([...(caller.models ?? [])], ['fast'])
  assert.deepEqual([caller.requestsPerMinute, caller.teamRequestsPerMinute], [20, 60])
  const budgets = await budgetStatuses(db, { accountId: caller.accountId, now: Date.now() })
  assert.deepEqual(
    budgets.map(({ level, window, limitNanoUsd }) => [level, window, limitNanoUsd]),
    [
      ['team', 'month', 30_000_000_000n],
      ['key', 'day', 2_000_000_000n],
    ],
  )
  assert.deepEqual([...caller.scopes].sort(), ['chat', 'models:read', 'usage:read'])
  await assert.rejects(async () => authenticator.authenticate('Bearer sk-c', '127.0.0.1'), {
    code: 'invalid_credential',
  })
  await authenticator.close()
  const sums = await reconcile(db, caller.accountId)
  assert.equal(sums.balanceNanoUsd, sums.expectedBalanceNanoUsd)
  const notes = await db
    .selectFrom('ledger')
    .select(['note', 'kind', 'amount_nano_usd'])
    .where('note', 'like', 'LiteLLM: spent by %')
    .orderBy('number')
    .execute()
  assert.deepEqual(
    notes.map(({ note, kind, amount_nano_usd }) => [note, kind, amount_nano_usd]),
    [
      ['LiteLLM: spent by team search', 'grant', 3_250_000_000n],
      ['LiteLLM: spent by team search', 'debit', 3_250_000_000n],
      ['LiteLLM: spent by spent', 'grant', 1_000_000_000n],
      ['LiteLLM: spent by spent', 'debit', 1_000_000_000n],
      ['LiteLLM: spent by LiteLLM …xxxx', 'grant', 500_000_000n],
      ['LiteLLM: spent by LiteLLM …xxxx', 'debit', 500_000_000n],
    ],
  )
})

test('model names and preferences of OpenRouter keep their names', async (t) => {
  const { write, imported } = await folderOf(t, { OPENROUTER_API_KEY: 'a' })
  const text = await imported(
    'openrouter',
    await write('models.txt', 'openai/gpt-5-mini\n# none\nanthropic/claude-sonnet-4.5:nitro\n'),
  )
  const ids = text.config.models.map(({ id }: { id: string }) => id)
  assert.deepEqual(ids, ['openai/gpt-5-mini', 'anthropic/claude-sonnet-4.5'])
  assert.deepEqual(text.config.models[1].deployments, [
    { provider: 'openrouter', model: 'anthropic/claude-sonnet-4.5' },
  ])
  assert.equal(text.config.models[1].pricing.input_per_million, 3)
  const body = {
    slug: 'writer',
    models: ['openai/gpt-5-mini', 'x-ai/unknown'],
    provider: { data_collection: 'deny', sort: 'price' },
  }
  const report = await imported('openrouter', await write('preset.json', body))
  assert.deepEqual(report.config.virtual_models, [
    { id: '@preset/writer', candidates: [{ model: 'openai/gpt-5-mini' }, { model: 'x-ai/unknown' }] },
  ])
  assert.deepEqual(report.config.routing, { policies: [{ data_collection: 'deny' }] })
  assert.match(finding(report, 'changed', 'model: x-ai/unknown'), /price/)
  assert.match(finding(report, 'no_equal', 'provider preferences'), /sort/)
})

test('a config of Portkey becomes a virtual model with its weights and fallbacks', async (t) => {
  const { write, imported } = await folderOf(t, { OPENAI_PROD_API_KEY: 'a', ANTHROPIC_MAIN_API_KEY: 'b' })
  const config = {
    strategy: { mode: 'loadbalance' },
    retry: { attempts: 3 },
    cache: { mode: 'simple' },
    targets: [
      { virtual_key: 'openai-prod', weight: 0.7, override_params: { model: 'gpt-5-mini' } },
      {
        weight: 0.3,
        strategy: { mode: 'fallback' },
        targets: [
          { virtual_key: 'anthropic-main', override_params: { model: 'claude-sonnet-5', temperature: 0 } },
          {
            provider: 'openai',
            api_key: 'sk-x',
            custom_host: 'https://gpu.example.com/v1',
            override_params: { model: 'own' },
          },
        ],
      },
    ],
  }
  const report = await imported('portkey', await write('support.json', config))
  assert.deepEqual(report.config.virtual_models, [
    {
      id: 'support',
      candidates: [
        { model: 'openai-prod/gpt-5-mini', weight: 0.7 },
        { model: 'anthropic-main/claude-sonnet-5', weight: 0.3 },
        { model: 'openai/own', weight: 0 },
      ],
      strategy: 'weighted',
    },
  ])
  assert.deepEqual(report.config.providers.anthropic, { api_key: `\${ANTHROPIC_MAIN_API_KEY}` })
  assert.deepEqual(report.config.routing, { max_attempts: 4 })
  finding(report, 'no_equal', 'config: support: cache')
})

test('channels, tokens and quotas of One API are read from SQLite and JSON alike, and its keys keep working', async (t) => {
  const { folder, location, write, imported } = await folderOf(t)
  const key = 'Zx81aQ0bT7nKp3Lr5Vd9Wc2Ye6Uf4Ig8Oh1Jm0Ns7Bk5Pt3'
  const channel = {
    id: 1,
    type: 1,
    key: 'sk-upstream',
    status: 1,
    name: 'main',
    weight: 2,
    base_url: '',
    models: 'gpt-5-mini,quick',
    model_mapping: '{"quick":"gpt-5-nano"}',
    priority: 10,
    group: 'default',
  }
  const token = {
    id: 1,
    user_id: 1,
    key,
    status: 1,
    name: 'till',
    expired_time: -1,
    remain_quota: 1_000_000,
    unlimited_quota: 0,
    models: 'quick',
    subnet: '127.0.0.0/8',
  }
  const user = { id: 1, username: 'root', quota: 2_500_000, used_quota: 500_000 }
  const path = join(folder, 'one-api.db')
  const database = new DatabaseSync(path)
  for (const [table, row] of Object.entries({ channels: channel, tokens: token, users: user })) {
    database.exec(
      `create table ${table} (${Object.keys(row)
        .map((name) => `"${name}"`)
        .join(', ')})`,
    )
    database
      .prepare(
        `insert into ${table} values (${Object.keys(row)
          .map(() => '?')
          .join(', ')})`,
      )
      .run(...Object.values(row))
  }
  database.close()
  const json = await write('one-api.json', {
    channels: [channel, { ...channel, id: 2, type: 34, name: 'coze' }],
    tokens: [token],
    users: [user],
  })
  const fromSqlite = await imported('one-api', path, '--apply')
  const fromJson = await imported('one-api', json, '--apply')
  assert.deepEqual(fromSqlite.applied, { keys: 1, teams: 0, entries: 2, existing: 0 })
  assert.deepEqual(fromJson.applied, { keys: 0, teams: 0, entries: 0, existing: 3 })
  assert.deepEqual(fromJson.config, fromSqlite.config)
  finding(fromJson, 'no_equal', 'channel: coze')
  const [, quick] = fromSqlite.config.models
  assert.deepEqual(quick.deployments, [{ provider: 'openai', model: 'gpt-5-nano', priority: 990, weight: 2 }])

  const { db, batch, onChange } = await temporaryDatabase(t, location)
  const authenticator = createAuthenticator({ db, batch, onChange, now: Date.now })
  const caller = await authenticator.authenticate(`Bearer sk-${key}`, '127.0.0.1')
  const [budget] = await budgetStatuses(db, { accountId: caller.accountId, now: Date.now() })
  assert.deepEqual([...(caller.models ?? [])], ['quick'])
  assert.deepEqual([budget?.level, budget?.window, budget?.limitNanoUsd], ['key', 'total', 2_000_000_000n])
  await assert.rejects(async () => authenticator.authenticate(`Bearer sk-${key}`, '10.0.0.1'), {
    code: 'address_not_allowed',
  })
  await authenticator.close()
  const { balanceNanoUsd, expectedBalanceNanoUsd } = await reconcile(db, caller.accountId)
  assert.equal(balanceNanoUsd, expectedBalanceNanoUsd)
})

test('the report for people has the whole advice, however long a line gets', async (t) => {
  const { turnpike, write } = await folderOf(t)
  const source = await write('config.yaml', 'router_settings: { routing_strategy: latency-based-routing }\n')
  const { code, error } = await turnpike('import', 'litellm', source)
  assert.equal(code, 0, error)
  assert.match(
    error.replaceAll(/\s+/g, ' '),
    /docs\/routing\.md has the strategies: weights, priorities, virtual models, and sort in a request\./,
  )
  assert.doesNotMatch(error, /…/)
  for (const line of error.split('\n')) assert.ok(line.length <= 100, line)
})

test('a file that exists with another content is kept', async (t) => {
  const { folder, turnpike, write } = await folderOf(t)
  const source = await write('models.txt', 'openai/gpt-5-mini\n')
  const output = await write('turnpike.yaml', 'log_level: info\n')
  const { code, error } = await turnpike('import', 'openrouter', source, '--output', output)
  assert.deepEqual([code, error.includes('exists and differs')], [1, true])
  const second = join(folder, 'second.yaml')
  for (const _ of [1, 2]) assert.equal((await turnpike('import', 'openrouter', source, '--output', second)).code, 0)
})
