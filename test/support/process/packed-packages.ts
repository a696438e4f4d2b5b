/** The packages of `packages/` as users have them: npm packs them, and installs them without the network. */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../scripts/source-files.ts'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Builds and packs a package, and installs it with what it needs into `folder/node_modules`, which npm tidies up. */
export function installPackage(name: 'client' | 'webhooks', folder: string): void {
  const build = join(folder, `${name}-build`)
  const packed = join(folder, `${name}-packed`)
  buildPackage(name, build)
  mkdirSync(packed, { recursive: true })
  const others = dependenciesOf(build).map((dependency) => folderOf(dependency))
  const pack = ['pack', '--ignore-scripts', '--pack-destination', packed]
  execFileSync('npm', [...pack, build, ...others], { stdio: 'ignore' })
  const archives = globSync('*.tgz', { cwd: packed }).map((file) => join(packed, file))
  const install = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
  execFileSync('npm', [...install, ...archives], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}

function buildPackage(name: string, build: string): void {
  const source = join(ROOT, 'packages', name)
  for (const file of ['package.json', 'README.md', 'LICENSE']) cpSync(join(source, file), join(build, file))
  const project = join(source, 'tsconfig.build.json')
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', project, '--outDir', join(build, 'dist')])
  const schema = 'dashboard/src/api/schema.d.ts'
  if (name === 'client') cpSync(join(ROOT, schema), join(build, 'dist', schema))
}

/** Direct and indirect ones. */
function dependenciesOf(package_: string): readonly string[] {
  const namesIn = (folder: string): readonly string[] =>
    Object.keys((JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest).dependencies ?? {})
  const names = new Set(namesIn(package_))
  for (const name of names) for (const further of namesIn(folderOf(name))) names.add(further)
  return [...names]
}

const folderOf = (name: string): string => join(ROOT, 'node_modules', name)
