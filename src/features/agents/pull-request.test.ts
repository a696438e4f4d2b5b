import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AgentWorker, finish, openWorker, shell } from '../../../test/support/agents/agent-worker.ts'
import { gitIn } from '../../../test/support/agents/git-repositories.ts'
import {
  type Provider,
  type RepositorySite,
  SITE_REPOSITORY,
  startRepositorySite,
} from '../../../test/support/agents/repository-site.ts'
import { loadConfig } from '../../config/load.ts'

interface Fixture {
  readonly site: RepositorySite
  readonly worker: AgentWorker
  /** Replaces the section of the configuration. */
  configure(over?: object): Promise<void>
  /** An agent whose branch is pushed. */
  pushed(order?: object): Promise<string>
  open(id: string, body?: object): ReturnType<AgentWorker['api']['ask']>
}

const SUMMARY = 'It was the month.'

async function setUp(t: TestContext, provider: Provider = 'github'): Promise<Fixture> {
  const site = await startRepositorySite(t, provider)
  const git_url = `${site.url}/{repository}.git`
  const accounts: string[] = []
  const git_credentials = [{ accounts, repositories: ['acme/*'], token: site.token }]
  const turns = Array.from({ length: 3 }, (_, at) => [shell(`echo ${at} > new${at}.txt`), finish(SUMMARY)]).flat()
  const worker = await openWorker(t, { turns, over: { repositories: { url: git_url, credentials: git_credentials } } })
  accounts.push(worker.api.accountId)
  const folder = mkdtempSync(join(tmpdir(), 'pull-requests-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'turnpike.yaml')
  const configure: Fixture['configure'] = async (over = {}) => {
    const agents = { git_url, git_provider: provider, allow_local_git: true, git_credentials, ...over }
    writeFileSync(file, JSON.stringify({ agents }))
    const env = { TURNPIKE_DATA_DIR: folder, TURNPIKE_CONFIG: file }
    const builtIn = { builtInProviders: [], providerVariables: {}, settingVariables: {} }
    await worker.api.app.app.reload(await loadConfig({ env, cwd: folder, builtIn }))
  }
  await configure()
  return {
    site,
    worker,
    configure,
    async pushed(order) {
      const { id } = await worker.create({ name: 'Fix the date', repository: SITE_REPOSITORY, ...order })
      await worker.work(id)
      return id
    },
    open: (id, body) => worker.api.ask('POST', `/${id}/pull-request`, body === undefined ? {} : { body }),
  }
}

for (const provider of ['github', 'gitlab'] as const) {
  test(`a pull request is opened at ${provider} for the pushed branch, once`, async (t) => {
    const { site, worker, pushed, open } = await setUp(t, provider)
    const id = await pushed()
    const head = `turnpike/${id}`
    const before = await worker.read(`/${id}`)
    assert.deepEqual([before.pull_request_url, before.pull_request_disabled_reason], [null, null])
    const tree = provider === 'github' ? 'tree' : '-/tree'
    assert.equal(before.branch_url, `${site.url}/${SITE_REPOSITORY}/${tree}/${head}`)
    const first = await open(id)
    const url = `${site.url}/${SITE_REPOSITORY}/${provider === 'github' ? 'pull' : '-/merge_requests'}/1`
    assert.deepEqual(
      [first.status, first.body],
      [201, { object: 'pull_request', url, number: 1, base: 'main', head, provider }],
    )
    const [made] = site.pulls
    assert.deepEqual([made?.title, made?.body, made?.draft], ['Fix the date', SUMMARY, false])
    const again = await open(id, { title: 'Another' })
    assert.deepEqual([again.status, again.body], [200, first.body])
    assert.equal(site.pulls.length, 1)
    assert.equal((await worker.read(`/${id}`)).pull_request_url, url)
    const audited = await auditOf(worker)
    assert.deepEqual(audited, [
      ['agent.pull_request_opened', id, { url, repository: SITE_REPOSITORY, base: 'main', head }],
    ])
    assert.ok(!JSON.stringify([first, again, audited, await worker.read(`/${id}`)]).includes(site.token))
  })

  test(`title, text, base and draft are what was asked for, at ${provider}`, async (t) => {
    const { site, pushed, open } = await setUp(t, provider)
    gitIn(site.origin, ['branch', 'next', 'main'])
    const id = await pushed()
    const { status, body } = await open(id, { title: 'Fix it', body: 'Why.', base: 'next', draft: true })
    assert.deepEqual([status, body.base], [201, 'next'])
    const [made] = site.pulls
    const title = provider === 'github' ? 'Fix it' : 'Draft: Fix it'
    assert.deepEqual([made?.title, made?.body, made?.base, made?.draft], [title, 'Why.', 'next', true])
  })

  test(`what ${provider} refuses is told with its reason, without the token`, async (t) => {
    const { site, pushed, open } = await setUp(t, provider)
    const id = await pushed()
    const missing = await refused(open(id, { base: 'gone' }))
    assert.match(
      missing,
      provider === 'github' ? /\(422\): Validation Failed 'base': invalid\./ : /Target branch does not exist\./,
    )
    site.next.push({ status: 403, body: { message: `Token ${site.token} may\u001b[31m not.` } })
    const denied = await refused(open(id))
    assert.match(denied, /\(403\): Token \[redacted\] may not\. The token in 'agents\.git_credentials' needs /)
    site.token = 'another token'
    const said = provider === 'github' ? 'Bad credentials' : '401 Unauthorized'
    const rest = "The token in 'agents.git_credentials' is invalid or has expired: the operator replaces it."
    assert.equal(await refused(open(id)), `${new URL(site.url).host} refused the pull request (401): ${said}. ${rest}`)
    assert.equal(site.pulls.length, 0)
  })

  test(`a pull request that somebody else opened meanwhile, and none of a fork, is found at ${provider}`, async (t) => {
    const { site, worker, pushed, open } = await setUp(t, provider)
    const id = await pushed()
    const theirs = { head: `turnpike/${id}`, base: 'main', title: '', body: '', draft: false, isOpen: true }
    site.pulls.push({ ...theirs, number: 1, isOfFork: true })
    site.before = () => {
      if (site.pulls.length === 1) site.pulls.push({ ...theirs, number: 2, isOfFork: false })
    }
    const { status, body } = await open(id)
    assert.deepEqual([status, body.number], [200, 2])
    const [[action] = []] = await auditOf(worker)
    assert.equal(action, 'agent.pull_request_found')
    for (const pull of site.pulls) pull.isOpen = false
    const { status: reopened, body: third } = await open(id)
    assert.deepEqual([reopened, third.number], [201, 3])
    assert.equal((await worker.read(`/${id}`)).pull_request_url, third.url)
  })
}

test('no commits between base and branch is the reason of a refusal', async (t) => {
  const { site, pushed, open } = await setUp(t)
  const id = await pushed()
  gitIn(site.origin, ['update-ref', 'refs/heads/main', `refs/heads/turnpike/${id}`])
  assert.match(await refused(open(id)), /: Validation Failed No commits between main and turnpike\/agt_\w+\.$/)
})

test('a host that fails, says nothing that can be read, or cannot be reached, may be asked again', async (t) => {
  const { site, pushed, open, configure } = await setUp(t)
  const id = await pushed()
  for (const next of [{ status: 502 }, { status: 201 }, { status: 201, body: { html_url: 'javascript:alert(1)' } }]) {
    site.next.push(next)
    const { status, body, headers } = await open(id)
    assert.deepEqual([status, body.error.code, headers['retry-after']], [503, 'pull_request_refused', '10'])
  }
  await configure({ git_url: 'http://127.0.0.1:1/{repository}.git' })
  const { status, body } = await open(id)
  assert.deepEqual(
    [status, body.error.message],
    [503, 'The API of 127.0.0.1:1 could not be reached. Please try again in 10 s.'],
  )
})

test('an agent that has not ended, or has pushed nothing, is a conflict', async (t) => {
  const { site, worker, pushed, open } = await setUp(t)
  const { id } = await worker.create({ repository: SITE_REPOSITORY })
  const look = async (agent: string) => {
    const { status, body } = await open(agent)
    const { branch_url, pull_request_disabled_reason: reason } = await worker.read(`/${agent}`)
    return [status, body.error?.code, reason, branch_url === null]
  }
  assert.deepEqual(await look(id), [409, 'conflict', 'not_ended', true])
  await worker.api.ask('POST', `/${id}/cancel`)
  assert.deepEqual(await look(id), [409, 'conflict', 'not_pushed', true])
  const done = await pushed()
  await worker.api.ask('POST', `/${done}/followup`, { body: { prompt: 'More.' } })
  assert.deepEqual(await look(done), [409, 'conflict', 'not_ended', false])
  await worker.api.ask('POST', `/${done}/cancel`)
  assert.equal((await open(done)).status, 201)
  assert.equal((await open('agt_none')).status, 404)
  assert.ok(site.asked.every((line) => !line.includes(id)))
})

test('without a credential, a known host, or an allowed address the answer says what the operator does', async (t) => {
  const { site, worker, pushed, open, configure } = await setUp(t)
  const id = await pushed()
  await configure({ git_credentials: [{ accounts: ['acc_other'], repositories: ['*'], token: 'x' }] })
  assert.match(await refused(open(id)), /^There is no credential for 'acme\/tools'\. .*'agents\.git_credentials'\.$/)
  assert.equal((await worker.read(`/${id}`)).pull_request_disabled_reason, 'no_credential')
  await configure({ git_provider: undefined })
  assert.match(await refused(open(id)), /^'acme\/tools' is not known to be on GitHub .*'agents\.git_provider'\.$/)
  const [shown] = (await worker.read('')).data
  assert.deepEqual([shown.pull_request_disabled_reason, shown.branch_url], ['unsupported_host', null])
  await configure({
    git_url: `${site.url.replace('http:', 'https:').replace(/:\d+$/, '')}/{repository}.git`,
    allow_local_git: false,
  })
  assert.match(
    await refused(open(id)),
    /at an address that is not allowed; private ones need 'agents\.allow_local_git'\.$/,
  )
  assert.deepEqual(site.asked, [])
})

test('[limit: pull-request-fields] fields are checked before the host is asked', async (t) => {
  const { site, pushed, open } = await setUp(t)
  const id = await pushed()
  for (const [body, code] of [
    [{ title: 'x'.repeat(201) }, 'out_of_range'],
    [{ title: 'a\u0007' }, 'invalid_value'],
    [{ body: 'x'.repeat(60_001) }, 'out_of_range'],
    [{ base: '--upload-pack=x' }, 'invalid_value'],
    [{ head: 'main' }, 'unknown_field'],
  ] as const) {
    const { status, body: answer } = await open(id, body)
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, code, Object.keys(body)[0]])
  }
  assert.deepEqual(site.asked, [])
  assert.equal((await open(id, { title: 'x'.repeat(200), body: 'ü'.repeat(60_000), base: null })).status, 201)
})

async function refused(asked: ReturnType<Fixture['open']>): Promise<string> {
  const { status, body, text } = await asked
  assert.deepEqual(
    [status, body.error.type, body.error.code],
    [422, 'unprocessable_entity', 'pull_request_refused'],
    text,
  )
  return body.error.message
}

async function auditOf({ api }: AgentWorker): Promise<readonly (readonly unknown[])[]> {
  const rows = await api.app.database.db
    .selectFrom('audit')
    .select(['action', 'subject', 'details'])
    .where('action', 'like', 'agent.%')
    .execute()
  return rows.map(({ action, subject, details }) => [action, subject, JSON.parse(details)])
}
