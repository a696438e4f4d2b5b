/**
 * `npm run build:notices`: what a release says about the packages that it installs, into `dist/`: a bill of materials
 * (`sbom.cdx.json`, CycloneDX) and their licences (`THIRD-PARTY-NOTICES.txt`). What the dashboard contains is listed in its
 * own `licenses.txt`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { ROOT } from './source-files.ts'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[]
}

export interface BillOfMaterials {
  readonly bomFormat: string
  readonly specVersion: string
  readonly metadata: { readonly component: Pick<Component, 'bom-ref' | 'name' | 'version'> }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

/**
 * Of the packages that users install, of every platform, from the lock file. npm lists all and the lock file says which are
 * needed: with `--omit dev` npm leaves out what development needs as well.
 */
export function billOfMaterials(): BillOfMaterials {
  const options = ['--sbom-format', 'cyclonedx', '--package-lock-only']
  const text = execFileSync('npm', ['sbom', ...options], { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const bill = JSON.parse(text) as BillOfMaterials
  const { metadata } = bill
  const paths = installedPaths()
  const components = bill.components.filter((component) => paths.has(keyOf(component)))
  const refs = new Set([metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])])
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }))
  // npm takes the name of the folder.
  return {
    ...bill,
    metadata: { ...metadata, component: { ...metadata.component, name: 'turnpike' } },
    components,
    dependencies,
  }
}

interface LockedPackage {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

const readLock = (): LockFile => JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as LockFile

/** The packages that users install, of every platform, by their path: without those of development and of the clients. */
export function installedPackages(): ReadonlyMap<string, LockedPackage> {
  const { packages } = readLock()
  const paths = new Set([''])
  for (const path of paths) {
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] as LockedPackage
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const found = foldersAbove(path).find((folder) => packages[folder + name] !== undefined)
      if (found !== undefined) paths.add(found + name)
    }
  }
  paths.delete('')
  return new Map(Object.entries(packages).filter(([path]) => paths.has(path)))
}

/** Where Node.js looks for what the package imports, nearest first. */
function foldersAbove(path: string): readonly string[] {
  const parents = [...path.matchAll(/\/node_modules\//g)].map(({ index }) => path.slice(0, index)).reverse()
  return [...new Set([path, ...parents, ''])].map((parent) => posix.join(parent, 'node_modules/'))
}

/** By name and version: where npm puts them. */
function installedPaths(): ReadonlyMap<string, string> {
  const packages = [...installedPackages()]
  return new Map(
    packages.map(([path, { version }]) => [keyOf({ name: path.split('node_modules/').at(-1) ?? '', version }), path]),
  )
}

const keyOf = ({ name, version }: Pick<Component, 'name' | 'version'>): string => `${name}@${version}`

/** The licence of each component, in its own words where it is installed here: packages of other platforms are not. */
export function thirdPartyNotices({ components }: BillOfMaterials): string {
  const paths = installedPaths()
  const notices = components.map((component) => {
    const { name, version } = component
    const text = licenceText(join(ROOT, paths.get(keyOf(component)) ?? ''))
    return `${name} ${version}\nLicence: ${licenceOf(component)}\n${text === undefined ? '' : `\n${text.trim()}\n`}`
  })
  return ['Turnpike installs these packages. Each is under its own licence.\n', ...notices].join(
    `\n${'-'.repeat(80)}\n\n`,
  )
}

export function licenceOf({ licenses = [] }: Component): string {
  return licenses.map(({ license, expression }) => expression ?? license?.id ?? 'unknown').join(', ') || 'unknown'
}

function licenceText(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined
  const files = globSync('{LICENSE,LICENCE,License,license,NOTICE,COPYING}*', { cwd: folder }).sort()
  const texts = files.filter((file) => !/\.[jt]s$/.test(file)).map((file) => readFileSync(join(folder, file), 'utf8'))
  return texts.length === 0 ? undefined : texts.join('\n')
}

if (import.meta.main) {
  const bill = billOfMaterials()
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  writeFileSync(join(ROOT, 'dist', 'sbom.cdx.json'), `${JSON.stringify(bill, undefined, 2)}\n`)
  writeFileSync(join(ROOT, 'dist', 'THIRD-PARTY-NOTICES.txt'), thirdPartyNotices(bill))
  console.log(`${bill.components.length} packages in dist/sbom.cdx.json and dist/THIRD-PARTY-NOTICES.txt`)
}
