import assert from 'node:assert/strict'
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { type AppForTests, type Browser, OWN_PAGE, openApp } from '../../test/support/browser/signed-in.ts'
import { temporaryPath } from '../../test/support/sqlite-file.ts'
import { createSignInLink } from '../features/accounts/bootstrap.ts'
import { DASHBOARD_LIMITS, readDashboard } from './dashboard.ts'

const PAGE = '<!doctype html><title>Turnpike</title><script type="module" src="/app/assets/index-B3x.js"></script>'
const SCRIPT = 'console.log(1)'.repeat(100)
const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function build(t: TestContext): Promise<string> {
  const folder = join(dirname(await temporaryPath(t)), 'dist')
  await mkdir(join(folder, 'assets'), { recursive: true })
  const files: Readonly<Record<string, string | Buffer>> = {
    'index.html': PAGE,
    'theme.js': 'theme()',
    'favicon.svg': '<svg/>',
    'assets/index-B3x.js': SCRIPT,
    'assets/index-B3x.js.br': brotliCompressSync(SCRIPT),
    'assets/index-B3x.js.gz': gzipSync(SCRIPT),
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return folder
}

async function openBuilt(t: TestContext): Promise<{ app: AppForTests; ada: Browser; folder: string }> {
  const folder = await build(t)
  const app = await openApp(t, { dashboardFolder: folder })
  return { app, folder, ada: await app.browser(await app.person(await app.account(), 'owner', 'ada@example.com')) }
}

test('WEB-3: every address of the dashboard is its page, with strict headers, asked about again each time', async (t) => {
  const { app, ada } = await openBuilt(t)
  for (const path of [
    '/app',
    '/app/',
    '/app/usage?group=model',
    '/app/settings/keys',
    '/app/models/openai/gpt-5',
    '/app/index.html',
  ]) {
    const { statusCode, headers, body } = await app.ask('GET', path, { headers: { ...HTML, cookie: ada.cookie } })
    assert.deepEqual([statusCode, body], [200, PAGE], path)
    const policy = String(headers['content-security-policy']).split('; ')
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]) {
      assert.ok(policy.includes(rule), rule)
    }
    assert.doesNotMatch(policy.join(), /unsafe|\*|https?:/)
    assert.deepEqual([headers['cache-control'], headers['content-type']], ['no-cache', 'text/html; charset=utf-8'])
    assert.deepEqual([headers['referrer-policy'], headers['x-content-type-options']], ['no-referrer', 'nosniff'])
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.match(String(headers['permissions-policy']), /microphone=\(\)/)
    const again = await app.ask('GET', path, {
      headers: { ...HTML, cookie: ada.cookie, 'if-none-match': `W/"other", W/${headers['etag']}` },
    })
    assert.deepEqual([again.statusCode, again.body], [304, ''], path)
  }
})

test('a browser that nobody is signed in with signs in first, and comes back to the very page', async (t) => {
  const { app, ada } = await openBuilt(t)
  for (const [path, next] of [
    ['/app/', '%2Fapp%2F'],
    ['/app/usage?group=model&from=1', '%2Fapp%2Fusage%3Fgroup%3Dmodel%26from%3D1'],
    [`/app/${'x'.repeat(600)}`, '%2Fapp%2F'],
  ]) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, headers } = await app.app.server.inject({ method, url: String(path), headers: HTML })
      assert.deepEqual([statusCode, headers.location], [302, `/sign-in?next=${next}`])
      assert.equal(headers['cache-control'], 'no-store')
    }
  }
  const ended = await app.ask('POST', '/auth/sign-out', { headers: { ...FORM, ...OWN_PAGE, cookie: ada.cookie } })
  assert.equal(ended.statusCode, 303)
  const headers = { ...HTML, cookie: ada.cookie }
  assert.equal((await app.ask('GET', '/app/keys', { headers })).headers.location, '/sign-in?next=%2Fapp%2Fkeys')
  assert.equal((await app.ask('GET', '/app/keys')).statusCode, 200) // a program that looks whether it is there
})

test('who signs in by link lands on the page that they wanted, once, and never on another site', async (t) => {
  const { app, ada } = await openBuilt(t)
  const signIn = async (cookie: string) => {
    const token = await createSignInLink(app.database.db, ada.accountId, Date.now())
    const headers = { ...FORM, ...OWN_PAGE, cookie }
    return (await app.ask('POST', '/auth/link', { headers, body: `token=${token}` })).headers
  }
  const kept = (await app.ask('GET', '/sign-in?next=%2Fapp%2Fusage%3Fgroup%3Dmodel')).headers['set-cookie']
  const [cookie = ''] = String(kept).split(';')
  const { location, 'set-cookie': cookies } = await signIn(cookie)
  assert.equal(location, '/app/usage?group=model')
  assert.match(String(cookies), /__Host-turnpike-next=; Max-Age=0/)
  assert.equal((await signIn('')).location, '/app/')
  assert.equal((await signIn('__Host-turnpike-next=%2F%2Fevil.example')).location, '/app/')
  const outside = await app.ask('GET', '/sign-in?next=%2F%2Fevil.example')
  assert.match(String(outside.headers['set-cookie']), /^__Host-turnpike-next=%2Fapp%2F;/)
  assert.equal((await app.ask('GET', '/sign-in')).headers['set-cookie'], undefined)
})

test('files with a hash in their name are kept for a year, in the smallest form that the client takes', async (t) => {
  const { app } = await openBuilt(t)
  const forms = [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip, br;q=0', 'gzip', gunzipSync],
    ['GZIP;q=0.5', 'gzip', gunzipSync],
    ['identity, brotli', undefined, (bytes: Buffer) => bytes],
    ['', undefined, (bytes: Buffer) => bytes],
  ] as const
  const tags = new Set<unknown>()
  for (const [encoding, coding, read] of forms) {
    const asked = { headers: { 'accept-encoding': encoding } }
    const answer = await app.ask('GET', '/app/assets/index-B3x.js', asked)
    assert.equal(answer.headers['content-encoding'], coding, encoding)
    assert.equal(String(read(answer.rawPayload)), SCRIPT)
    assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.deepEqual([answer.headers.vary, answer.headers['x-content-type-options']], ['accept-encoding', 'nosniff'])
    assert.equal(answer.headers['content-type'], 'text/javascript; charset=utf-8')
    tags.add(answer.headers.etag)
  }
  assert.equal(tags.size, 3)
  const head = await app.app.server.inject({ method: 'HEAD', url: '/app/assets/index-B3x.js' })
  assert.deepEqual([head.statusCode, head.body, head.headers['content-length']], [200, '', String(SCRIPT.length)])
})

test('other files are asked about again; what is no file is not found, and nothing outside the folder is', async (t) => {
  const { app, folder } = await openBuilt(t)
  await writeFile(join(dirname(folder), 'secret.txt'), 'secret')
  const theme = await app.ask('GET', '/app/theme.js')
  assert.deepEqual([theme.body, theme.headers['cache-control']], ['theme()', 'no-cache'])
  const icon = await app.ask('GET', '/app/favicon.svg', { headers: { 'if-none-match': '"other"' } })
  assert.deepEqual([icon.statusCode, icon.headers['content-type']], [200, 'image/svg+xml'])
  for (const path of [
    '/app/assets/other.js',
    '/app/assets/',
    '/app/assets/index-B3x.js.br',
    '/app/assets/../theme.js/x',
    '/app/assets/..%2Ftheme.js',
    '/app/assets/..%2F..%2Fsecret.txt',
    '/app/assets/..%5C..%5Csecret.txt',
  ]) {
    const { statusCode, body } = await app.ask('GET', path)
    if (statusCode !== 404) assert.equal(body, PAGE, path)
    else assert.equal(JSON.parse(body).error.code, 'not_found')
  }
  for (const path of ['/app/..%2Fsecret.txt', '/app/%2e%2e/secret.txt', '/app/..%2F..%2F..%2Fetc/passwd']) {
    const { body } = await app.ask('GET', path)
    assert.doesNotMatch(body, /^secret|root:/, path)
  }
  assert.equal((await app.ask('GET', '/app/assets/other.js')).statusCode, 404)
})

test('what is read at the start is answered also when the folder changes', async (t) => {
  const { app, folder } = await openBuilt(t)
  await writeFile(join(folder, 'theme.js'), 'other()')
  assert.equal((await app.ask('GET', '/app/theme.js')).body, 'theme()')
})

test('where it is not built, plain pages say so, and how it is built', async (t) => {
  const app = await openApp(t)
  const ada = await app.browser(await app.person(await app.account(), 'owner', 'ada@example.com'))
  const anonymous = await app.ask('GET', '/app/', { headers: HTML })
  assert.equal(anonymous.statusCode, 200)
  assert.match(anonymous.body, /Turnpike is running/)
  const home = await app.ask('GET', '/app/usage', { headers: { ...HTML, cookie: ada.cookie } })
  assert.match(home.body, /signed in as Ada \(ada@example\.com\)/)
  for (const { body } of [anonymous, home]) assert.match(body, /<code>npm run build:dashboard<\/code>/)
  assert.equal((await app.ask('GET', '/app/assets/index-B3x.js')).statusCode, 404)
})

test('a folder without a page is no dashboard', async (t) => {
  const folder = dirname(await temporaryPath(t))
  await writeFile(join(folder, 'other.html'), '')
  assert.equal(await readDashboard(folder), undefined)
  assert.equal(await readDashboard(join(folder, 'none')), undefined)
  assert.equal(await readDashboard(join(folder, 'other.html')), undefined)
})

test('more than 2 000 files, or 32 MiB of them, are no dashboard [limit: dashboard]', async (t) => {
  const folder = await build(t)
  assert.deepEqual(DASHBOARD_LIMITS, { files: 2_000, bytes: 32 * 1024 * 1024 })
  const large = join(folder, 'assets', 'large.js')
  await writeFile(large, '')
  await truncate(large, DASHBOARD_LIMITS.bytes)
  await assert.rejects(readDashboard(folder), /is not a build of the dashboard/)
  await truncate(large, 0)
  assert.equal((await readDashboard(folder))?.files.size, 5)
  await Promise.all(Array.from({ length: 2_000 }, (_, index) => writeFile(join(folder, 'assets', `${index}.txt`), '')))
  await assert.rejects(readDashboard(folder), /is not a build of the dashboard/)
})
