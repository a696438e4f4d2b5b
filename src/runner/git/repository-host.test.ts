/** What is asked of the hosts, `features/agents/pull-request.test.ts` tests. Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { branchPage, type HostProvider, repositoryHost } from './repository-host.ts'

const KNOWN: readonly (readonly [address: string, configured: HostProvider | undefined, api: string, page: string])[] =
  [
    [
      'https://github.com/acme/tools.git',
      undefined,
      'https://api.github.com/repos/acme/tools',
      'https://github.com/acme/tools/tree/b/1',
    ],
    [
      'https://acme.ghe.com/acme/tools',
      undefined,
      'https://api.acme.ghe.com/repos/acme/tools',
      'https://acme.ghe.com/acme/tools/tree/b/1',
    ],
    [
      'https://github.example.com:8443/acme/tools.git',
      undefined,
      'https://github.example.com:8443/api/v3/repos/acme/tools',
      'https://github.example.com:8443/acme/tools/tree/b/1',
    ],
    [
      'https://git.example.com/acme/tools.git/',
      'github',
      'https://git.example.com/api/v3/repos/acme/tools',
      'https://git.example.com/acme/tools/tree/b/1',
    ],
    [
      'https://gitlab.com/acme/tools.git',
      undefined,
      'https://gitlab.com/api/v4/projects/acme%2Ftools',
      'https://gitlab.com/acme/tools/-/tree/b/1',
    ],
    [
      'https://git.example.com/team/acme/tools.js.git',
      'gitlab',
      'https://git.example.com/api/v4/projects/team%2Facme%2Ftools.js',
      'https://git.example.com/team/acme/tools.js/-/tree/b/1',
    ],
  ]

test('the API and the pages of a repository are found by the name of its host, or by what it is said to be', () => {
  for (const [address, configured, api, page] of KNOWN) {
    const host = repositoryHost(address, configured) ?? assert.fail(address)
    assert.deepEqual([host.api, branchPage(host, 'b/1')], [api, page])
  }
})

test('other hosts, other protocols, and paths that GitHub does not have are none', () => {
  const none: readonly (readonly [string, HostProvider?])[] = [
    ['https://git.example.com/acme/tools.git'],
    ['https://notgithub.com/acme/tools.git'],
    ['https://github.com/team/acme/tools.git'],
    ['file:///srv/git/acme/tools.git', 'github'],
    ['not an address', 'gitlab'],
  ]
  for (const [address, configured] of none) assert.equal(repositoryHost(address, configured), undefined, address)
})
