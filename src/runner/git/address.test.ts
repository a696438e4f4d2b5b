import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRepositoryName, remoteAt, repositoryUrl } from './address.ts'
import { isBranchName } from './checkout.ts'
import { plainText, withoutSecrets } from './error.ts'
import { credentialFor } from './settings.ts'

const STRICT = { allowLocalGit: false }
const LOCAL = { allowLocalGit: true }
const TEMPLATE = 'https://github.com/{repository}.git'

test('GIT-1: a repository fills the template; anything but organisation/repository is refused', () => {
  assert.equal(repositoryUrl(TEMPLATE, 'acme/my_tools.js-1', STRICT).url, 'https://github.com/acme/my_tools.js-1.git')
  const wrong = ['', 'acme', 'acme/', '/tools', 'a/b/c', '../x', 'acme/..', 'a..b/c', '-a/b', 'a/-b', './b', 'a/.git']
  const worse = [
    'a/b.git',
    'a/b.GIT',
    'a/b.',
    'a./b',
    'a/b.lock',
    'a b/c',
    'a\n/b',
    'a/b\n',
    'a/b?x',
    'a/b#x',
    'a/b%2e',
  ]
  const odd = ['a@b/c', 'a:b/c', 'ä/b', 'a\\b/c', 'ext::sh/x', '.a/b', `${'a'.repeat(102)}/b`, '{repository}/x']
  for (const text of [...wrong, ...worse, ...odd]) {
    assert.equal(isRepositoryName(text), false, text)
    assert.throws(() => repositoryUrl(TEMPLATE, text, STRICT), { code: 'invalid_value', param: 'repository' }, text)
  }
})

test('GIT-1: https on public hosts alone, and what the operator allows on this machine and its network', () => {
  const templates = ['file:///srv/{repository}.git', 'http://10.0.0.1/{repository}', 'https://10.0.0.1/{repository}']
  for (const template of templates) {
    assert.throws(() => repositoryUrl(template, 'a/b', STRICT), { code: 'invalid_value' }, template)
    assert.doesNotThrow(() => repositoryUrl(template, 'a/b', LOCAL), template)
  }
  const never = [
    'ext::sh -c {repository}',
    'ssh://git@host/{repository}',
    'git://host/{repository}',
    '/srv/{repository}',
  ]
  const hosts = [
    'https://{repository}/x',
    'https://me:secret@host.com/{repository}',
    'https://host.com/?x={repository}',
  ]
  for (const template of [...never, ...hosts]) {
    assert.throws(() => repositoryUrl(template, 'a/b', LOCAL), { code: 'invalid_value' }, template)
  }
})

test('the address is fixed for git, of either family, and the transport is told', async () => {
  const resolve = async () => ['8.8.8.8', '2606:4700::1111']
  const remote = await remoteAt(repositoryUrl(TEMPLATE, 'a/b', STRICT), { ...STRICT, resolve })
  assert.deepEqual(remote.config, ['http.curloptResolve=github.com:443:8.8.8.8,[2606:4700::1111]'])
  const literal = await remoteAt(repositoryUrl('http://127.0.0.1:81/{repository}', 'a/b', LOCAL), { ...LOCAL, resolve })
  assert.deepEqual([literal.config, literal.transport], [[], 'http'])
  const local = await remoteAt(repositoryUrl('file:///srv/{repository}.git', 'a/b', LOCAL), LOCAL)
  assert.deepEqual([local.localPath, local.transport], ['/srv/a/b.git', 'file'])
})

test('branches are what git takes, less what means something to a shell, a refspec or an option', () => {
  for (const name of ['main', 'feature/x-1', 'v1.2', 'a@b', 'ünï']) assert.equal(isBranchName(name), true, name)
  const wrong = ['', '-x', '/x', 'x/', 'x//y', 'a..b', 'a b', 'a:b', 'a*', 'a?', 'a[', 'a\\b', 'a~1', 'a^', '@{u}', '@']
  for (const name of [...wrong, 'x.lock', 'x.lock/y', '.x', 'x/.y', 'x.', 'HEAD', 'a\nb', 'a\u001b', 'x'.repeat(201)]) {
    assert.equal(isBranchName(name), false, name)
  }
})

test('GIT-3: a credential is for its accounts and its repositories; no match, no credential', () => {
  const rules = [
    { accounts: ['acc_1', 'acc_2'], repositories: ['acme/*', 'lib*/x*y'], token: 'one' },
    { accounts: ['acc_2'], repositories: ['*'], token: 'all' },
  ]
  const find = (accountId: string, repository: string) => credentialFor(rules, { accountId, repository })?.token
  assert.equal(find('acc_1', 'acme/tools'), 'one')
  assert.equal(find('acc_1', 'library/xy'), 'one')
  assert.equal(find('acc_1', 'lib/x.y'), 'one')
  assert.equal(find('acc_2', 'acme/tools'), 'one')
  assert.equal(find('acc_2', 'other/tools'), 'all')
  const none = ['acmex/tools', 'xacme/tools', 'ACME/tools', 'other/acme/tools', 'lib/xyz', 'lib/y', 'acme']
  for (const repository of none) assert.equal(find('acc_1', repository), undefined, repository)
  assert.equal(find('acc_3', 'acme/tools'), undefined)
  assert.equal(find('acc_', 'acme/tools'), undefined)
  const hostile = [{ accounts: ['a'], repositories: [`${'*a'.repeat(200)}b`], token: 't' }]
  assert.equal(credentialFor(hostile, { accountId: 'a', repository: 'a'.repeat(10_000) }), undefined)
})

test('what others wrote is shown without terminal sequences, controls and secrets', () => {
  assert.equal(plainText('a\u001b[31mb\u001b]0;title\u0007c\r\nd\u202ee\u0000\u009b1m\tf\ud800'), 'abc\nde1m\tf\ufffd')
  const secret = 's3cr/t'
  const text = `x ${secret} ${encodeURIComponent(secret)} ${Buffer.from(secret).toString('base64')}`
  assert.equal(withoutSecrets(text, [secret, '']), 'x [redacted] [redacted] [redacted]')
})
