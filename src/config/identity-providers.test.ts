import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadConfig } from './load.ts'
import { ConfigError } from './source-tree.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-config-'))
after(() => rmSync(folder, { recursive: true }))

/** @param providers What stands in the list, each without its client. */
async function load(...providers: readonly string[]) {
  const cwd = mkdtempSync(join(folder, 'case-'))
  const list = providers.map((text) => `    - { ${text}, client_id: c, client_secret: s }`)
  writeFileSync(join(cwd, 'turnpike.yaml'), ['auth:', '  providers:', ...list].join('\n'))
  const config = await loadConfig({ env: {}, cwd, builtIn: { builtInProviders: [], providerVariables: {} } })
  return config.auth.providers
}

async function problemsOf(...providers: readonly string[]): Promise<string> {
  const error: unknown = await load(...providers).catch((error: unknown) => error)
  assert.ok(error instanceof ConfigError, 'a bad configuration was accepted')
  return error.problems.join('\n')
}

test('OIDC-1: the issuer is kept to the letter, with its slash', async () => {
  const issuers = [
    'https://login.example.com',
    'https://tenant.example.com/',
    'http://localhost:9000/realms/a',
    'http://[::1]:1',
  ]
  for (const issuer of issuers) {
    const [provider] = await load(`kind: oidc, name: x, issuer: "${issuer}"`)
    assert.equal(provider?.issuer, issuer)
  }
})

test('an issuer without TLS is taken on loopback only', async () => {
  for (const host of ['login.example.com', '10.0.0.1', 'localhost.example.com']) {
    const problem = await problemsOf(`kind: oidc, name: x, issuer: "http://${host}"`)
    assert.match(
      problem,
      /auth.providers\[0\].issuer: found an address that is not https:\/\/, allowed: only on loopback/,
    )
  }
})

test('no two providers share a redirect URI, and none takes an address of our own', async () => {
  const github = 'kind: github, allowed_domains: [example.com]'
  await load(`${github}, name: GitHub`, `${github}, name: GitHub 2`, `${github}, name: 公司 2`)
  const twice = await problemsOf(`${github}, name: Our Login`, `${github}, name: "our-login!"`)
  assert.match(twice, /^turnpike.yaml:4:\d+: auth.providers\[1\].name: found "our-login!", whose redirect URI/)
  assert.match(await problemsOf(`${github}, name: 公司`, `${github}, name: GitHub`), /auth\/github\/callback/)
  assert.match(await problemsOf(`${github}, name: Session`), /auth.providers\[0\].name/)
})

test('where anybody can have an account, the domains that may sign in must be said', async () => {
  const tenant = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
  for (const text of [
    'kind: github, name: x',
    'kind: github, name: x, issuer: "https://github.com"',
    'kind: oidc, name: x, issuer: "https://accounts.google.com"',
    'kind: oidc, name: x, issuer: "https://login.microsoftonline.com/common/v2.0"',
    'kind: oidc, name: x, issuer: "https://login.microsoftonline.com/Organizations/v2.0"',
    'kind: oidc, name: x, issuer: "https://gitlab.com", allowed_domains: []',
  ]) {
    assert.match(
      await problemsOf(text),
      /auth.providers\[0\].allowed_domains: found nothing, but anyone can create/,
      text,
    )
    const [everybody] = await load(`${text.replace(/, allowed_domains: \[\]/, '')}, allowed_domains: ["*"]`)
    assert.deepEqual(everybody?.allowed_domains, ['*'])
  }
  await load(`kind: oidc, name: x, issuer: "https://login.microsoftonline.com/${tenant}/v2.0"`)
  await load('kind: github, name: x, issuer: "https://github.example.com"')
})
