/** The package `turnpike-webhooks` as npm would publish it, for tests that install it. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../scripts/source-files.ts'

/** Packs the package and unpacks it into `folder/node_modules`. */
export function installWebhooksPackage(folder: string): void {
  const source = join(ROOT, 'packages', 'webhooks')
  const build = join(folder, 'turnpike-webhooks-build')
  for (const name of ['package.json', 'README.md', 'LICENSE']) cpSync(join(source, name), join(build, name))
  const project = join(source, 'tsconfig.build.json')
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', project, '--outDir', join(build, 'dist')])
  const options = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  execFileSync('npm', options, { cwd: build, stdio: 'ignore' })
  const target = join(folder, 'node_modules', 'turnpike-webhooks')
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, 'turnpike-webhooks-0.2.0.tgz'), '-C', target, '--strip-components=1'])
}
