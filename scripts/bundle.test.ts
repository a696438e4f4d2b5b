/** Which program `bin/turnpike.js` runs. Runs on one database. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { ROOT } from './source-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bundle-'))
after(() => rmSync(folder, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** A clone whose program prints where it came from. */
function makeClone(): void {
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
  write('package.json', '{"type": "module", "version": "0.0.0"}')
  write('preload.ts', '')
  write('src/cli/main.ts', "export const main = () => console.log('sources')")
  write('dist/src/bundle/turnpike.js', "export const main = () => console.log('bundle')")
  const { size, mtimeMs } = statSync(join(folder, 'src/cli/main.ts'))
  write('dist/src/bundle/inputs.json', JSON.stringify([['src/cli/main.ts', size, mtimeMs]]))
}

function run(env: Readonly<Record<string, string>> = {}, flags: readonly string[] = []): string {
  const program = join(folder, 'bin', 'turnpike.js')
  return execFileSync(process.execPath, [...flags, program], { env, encoding: 'utf8', stdio: 'pipe' }).trim()
}

test('the bundle runs while it matches the sources, and never where modules are preloaded, watched or measured', () => {
  makeClone()
  assert.equal(run(), 'bundle')
  assert.equal(run({ NODE_OPTIONS: '--max-old-space-size=512' }), 'bundle')
  assert.equal(run({ NODE_OPTIONS: `--import=${join(folder, 'preload.ts')}` }), 'sources')
  assert.equal(run({}, ['--inspect=127.0.0.1:0']), 'sources')
  assert.equal(run({ WATCH_REPORT_DEPENDENCIES: '1' }), 'sources')
  appendFileSync(join(folder, 'src/cli/main.ts'), '\n')
  assert.equal(run(), 'sources')
  rmSync(join(folder, 'dist'), { recursive: true })
  assert.equal(run(), 'sources')
})
