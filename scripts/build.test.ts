import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ROOT } from './source-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-build-'))
after(() => rmSync(folder, { recursive: true }))

/** What the package has, and nothing of the sources. */
function install(): string {
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
  const built = spawnSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', join(folder, 'package', 'dist')], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  assert.equal(built.status, 0, built.stdout)
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: readonly string[] }
  for (const name of [...files, 'package.json']) {
    if (name !== 'dist') cpSync(join(ROOT, name), join(folder, 'package', name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package', 'node_modules'))
  return join(folder, 'package', 'bin', 'turnpike.js')
}

test('the package runs from what it carries: no sources, threads included', async () => {
  const program = install()
  const env = { PORT: '0', TURNPIKE_DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, [program, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let output = ''
  for await (const piece of child.stdout) {
    output += String(piece)
    if (output.includes('Turnpike is listening')) break
  }
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
  const [key = ''] = /tp_\w{46}/.exec(output) ?? []
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'turnpike-simulator', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  assert.equal(response.status, 200, await response.text())
  child.kill('SIGTERM')
  assert.equal(await exited, 0)
})
