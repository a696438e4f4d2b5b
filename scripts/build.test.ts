import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { installPackage } from '../test/support/process/packed-packages.ts'
import { ROOT } from './source-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-build-'))
after(() => rmSync(folder, { recursive: true }))

const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
const packaged = join(folder, 'package')

/** What the package has, and nothing of the sources. */
function install(): void {
  // `npm run check` checks the types.
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(packaged, 'dist')]
  const built = spawnSync(tsc, options, { cwd: ROOT, encoding: 'utf8' })
  assert.equal(built.status, 0, built.stdout)
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: readonly string[] }
  for (const name of [...files, 'package.json']) {
    if (!/^!?dist\b/.test(name)) cpSync(join(ROOT, name), join(packaged, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(packaged, 'node_modules'))
}

before(install)

test('the package contains the built dashboard and documentation, and not their sources', () => {
  const options = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout, stderr } = spawnSync('npm', options, { cwd: ROOT, encoding: 'utf8' })
  const [{ files }] = JSON.parse(stdout || stderr) as [{ readonly files: readonly { readonly path: string }[] }]
  const paths = files.map(({ path }) => path)
  for (const name of ['index.html', 'index.html.br', 'theme.js', 'favicon.svg']) {
    assert.ok(paths.includes(`dashboard/dist/${name}`), `dashboard/dist/${name} is not packed`)
  }
  assert.ok(paths.some((path) => /^dashboard\/dist\/assets\/index-[\w-]+\.js\.br$/.test(path)))
  for (const name of ['index.html', 'errors.md', 'llms.txt', 'licenses.txt', 'api/index.html']) {
    assert.ok(paths.includes(`site/dist/${name}.gz`), `site/dist/${name} is not packed`)
  }
  assert.deepEqual(
    paths.filter((path) => path.startsWith('dist/src/bundle/')),
    [],
    'the bundle contains other packages without their licences',
  )
  assert.deepEqual(
    paths.filter((path) => /^(?:dashboard|site|docs)\/(?!dist\/)/.test(path)),
    [],
  )
})

/** Its page, of anybody, and the scripts and styles that the page names. */
async function assertServesDashboard(url: string): Promise<void> {
  const asked = await fetch(`${url}/app/`, { headers: { accept: 'text/html' }, redirect: 'manual' })
  assert.equal(asked.headers.get('location'), '/sign-in?next=%2Fapp%2F')
  const page = await fetch(`${url}/app/usage`)
  assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self'/)
  const names = [...(await page.text()).matchAll(/(?:src|href)="(\/app\/[^"]+\.(?:js|css|svg))"/g)].map(
    (match) => match[1] ?? '',
  )
  assert.ok(names.length > 2, `the page names ${names.join(', ')}`)
  for (const name of names) {
    const { status, headers } = await fetch(url + name, { headers: { 'accept-encoding': 'br' } })
    assert.equal(status, 200, name)
    const isLarge = name.startsWith('/app/assets/index-')
    if (isLarge) assert.equal(headers.get('content-encoding'), 'br', name)
  }
}

test('the package runs without sources, including threads and dashboard', async () => {
  const env = { PORT: '0', TURNPIKE_DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, [join(packaged, 'bin', 'turnpike.js'), 'serve'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
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
  await assertServesDashboard(url)
  child.kill('SIGTERM')
  assert.equal(await exited, 0)
})

/** A program of somebody else that has the package, and the types of Node.js, among its modules. */
function makeConsumer(): string {
  const consumer = join(folder, 'consumer')
  mkdirSync(consumer)
  writeFileSync(join(consumer, 'package.json'), '{"type":"module"}')
  installPackage('webhooks', consumer)
  mkdirSync(join(consumer, 'node_modules', '@types'))
  for (const name of ['@types/node', 'undici-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(consumer, 'node_modules', name))
  }
  symlinkSync(packaged, join(consumer, 'node_modules', 'turnpike'))
  const page = readFileSync(join(ROOT, 'docs', 'webhooks.md'), 'utf8')
  writeFileSync(join(consumer, 'receiver.ts'), /^```ts\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '')
  return consumer
}

const COMPILER_OPTIONS = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']

test('turnpike/webhooks is exported: its code runs, and the receiver of docs/webhooks.md matches its types', () => {
  const consumer = makeConsumer()
  const checked = spawnSync(tsc, [...COMPILER_OPTIONS, 'receiver.ts'], { cwd: consumer, encoding: 'utf8' })
  assert.equal(checked.stdout, '')
  assert.equal(checked.status, 0)
  const program = `
    import { verifyWebhook, WebhookVerificationError } from 'turnpike/webhooks'
    try {
      verifyWebhook('{}', {}, 'whsec_' + Buffer.alloc(32).toString('base64'))
    } catch (error) {
      console.log(error instanceof WebhookVerificationError, error.reason)
    }`
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: consumer,
    encoding: 'utf8',
  })
  assert.equal(run.stdout, 'true missing_signature\n', run.stderr)
})
