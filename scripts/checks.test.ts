import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { withoutComments } from './source-files.ts'

/** A project beside copies of the scripts, the same for all checks: their processes share what is compiled. */
const folder = mkdtempSync(join(tmpdir(), 'turnpike-checks-'))
after(() => rmSync(folder, { recursive: true }))
cpSync(import.meta.dirname, join(folder, 'scripts'), { recursive: true })
symlinkSync(join(import.meta.dirname, '..', 'node_modules'), join(folder, 'node_modules'))
writeFileSync(join(folder, '.gitignore'), 'node_modules\nscripts\n')
spawnSync('git', ['init', '--quiet'], { cwd: folder })
const OWN = new Set(readdirSync(folder))

/** Runs one check over a project of the given files. */
function checkOver(
  script: string,
  files: Readonly<Record<string, string | undefined>>,
): { status: number | null; output: string } {
  for (const name of readdirSync(folder)) if (!OWN.has(name)) rmSync(join(folder, name), { recursive: true })
  for (const [path, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    if (text === undefined) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [join('scripts', script)], {
    cwd: folder,
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

const PASSED = { status: 0, output: '' }
const from = (target: string): string => `import { x } from '${target}'\nexport const y = x\n`

test('an ID of a requirement that the table does not explain is found', () => {
  const table = '| ID | requirement |\n|---|---|\n| ZZ-1 | One. |\n'
  const { status, output } = checkOver('check-house.ts', {
    'docs/requirements.md': table,
    'src/lib/a.ts': '/** ZZ-1, ZZ-2, CRC-32 */\nexport const a = 1\n',
  })
  assert.equal(status, 1)
  assert.match(output, /ZZ-2 is not in docs\/requirements\.md/)
  assert.doesNotMatch(output, /ZZ-1 is not|CRC-32/)
})

const BROKEN_ARROWS: readonly (readonly [file: string, target: string])[] = [
  ['src/lib/a.ts', '../domain/b.ts'],
  ['src/domain/a.ts', '../protocols/b.ts'],
  ['src/protocols/p/a.ts', '../../providers/b.ts'],
  ['src/protocols/a.ts', 'node:fs'],
  ['src/protocols/a.ts', 'undici'],
  ['src/providers/a.ts', '../gateway/b.ts'],
  ['src/gateway/a.ts', '../db/b.ts'],
  ['src/gateway/a.ts', '../http/b.ts'],
  ['src/gateway/a.ts', '../features/keys/b.ts'],
  ['src/gateway/a.ts', 'fastify'],
  ['src/features/keys/a.ts', '../usage/b.ts'],
  ['src/features/keys/a.ts', '../../gateway/b.ts'],
  ['src/features/keys/a.ts', '../../config/b.ts'],
  ['src/http/a.ts', '../config/b.ts'],
  ['src/jobs/a.ts', '../features/keys/b.ts'],
  ['src/db/a.ts', '../app.ts'],
  ['src/db/a.ts', '../../test/b.ts'],
]
for (const [file, target] of BROKEN_ARROWS) {
  test(`${file} must not import ${target}`, () => {
    const { status, output } = checkOver('check-imports.ts', { [file]: from(target) })
    assert.equal(status, 1)
    assert.match(output, new RegExp(`^${file.replaceAll('.', '\\.')}:1: `))
  })
}

test('import cycles are rejected, type-only and dynamic ones included', () => {
  const { status, output } = checkOver('check-imports.ts', {
    'src/lib/a.ts': from('./b.ts'),
    'src/lib/b.ts': "import type { y } from './c.ts'\n",
    'src/lib/c.ts': "export const y = () => import('./a.ts')\n",
    'catalogue/a.ts': from('./b.ts'),
    'catalogue/b.ts': '',
    'test/support/a.ts': from('./b.ts'),
    'test/support/b.ts': from('./a.ts'),
  })
  assert.equal(status, 1)
  assert.match(output, /^src\/lib\/a\.ts:1: an import cycle: src\/lib\/a\.ts, src\/lib\/b\.ts, src\/lib\/c\.ts$/m)
  assert.match(output, /^test\/support\/a\.ts:1: an import cycle: /m)
  assert.match(output, /\nimports: 2 findings\n$/)
})

test('allowed imports pass, and tests are exempt', () => {
  const { status, output } = checkOver('check-imports.ts', {
    'src/lib/a.ts': from('node:crypto'),
    'src/domain/a.ts': from('../lib/a.ts'),
    'src/providers/a.ts': from('../protocols/a.ts'),
    'src/gateway/a.ts': from('../providers/a.ts') + from('undici'),
    'src/features/deps.ts': from('../db/a.ts'),
    'src/features/keys/a.ts': from('../deps.ts') + from('./b.ts') + from('../../http/a.ts'),
    'src/cli/a.ts': from('../gateway/a.ts') + from('../config/a.ts'),
    'src/app.ts': from('./features/keys/a.ts'),
    'src/lib/a.test.ts': from('../db/a.ts'),
  })
  assert.equal(output, '')
  assert.equal(status, 0)
})

const BROKEN_HOUSE: readonly (readonly [why: string, file: string, text: string])[] = [
  ['a name that says nothing', 'src/db/utils.ts', ''],
  ['the environment outside config/', 'src/http/a.ts', 'export const a = process.env.PORT\n'],
  ['the clock in domain/', 'src/domain/a.ts', 'export const a = () => Date.now()\n'],
  ['chance in lib/', 'src/lib/a.ts', 'export const a = () => Math.random()\n'],
  ['chance of crypto in lib/', 'src/lib/a.ts', "import { randomBytes } from 'node:crypto'\n"],
  ['a timer in protocols/', 'src/protocols/a.ts', 'export const a = () => setTimeout(() => {}, 1)\n'],
  ['a class that is no error', 'src/gateway/a.ts', 'export class Pipeline {}\n'],
  ["a provider's name in a string", 'src/gateway/a.ts', "export const a = (id: string) => id === 'groq'\n"],
  ["a provider's name in a name", 'src/protocols/a.ts', 'export const groqDialect = 1\n'],
  ["a provider's name inside a name", 'src/gateway/a.ts', 'export const isGroq = 1\n'],
  ["a provider's name that is a word", 'src/gateway/a.ts', "export const a = 'together'\n"],
]
for (const [why, file, text] of BROKEN_HOUSE) {
  test(`check-house rejects ${why}`, () => {
    const { status, output } = checkOver('check-house.ts', {
      [file]: text,
      'src/providers/groq.ts': '',
      'src/providers/together.ts': '',
    })
    assert.equal(status, 1)
    assert.match(output, new RegExp(`^${file.replaceAll('.', '\\.')}:`))
  })
}

test('a folder of more than 25 source files is rejected, without counting tests', () => {
  const names = Array.from({ length: 26 }, (_, index) => `src/db/a${index}.ts`)
  const files = Object.fromEntries(names.map((name) => [name, '']))
  assert.deepEqual(
    checkOver('check-house.ts', { ...files, 'src/db/a25.ts': undefined, 'src/db/a.test.ts': '' }),
    PASSED,
  )
  const { status, output } = checkOver('check-house.ts', files)
  assert.deepEqual([status, output], [1, 'src/db:1: 26 source files in one folder (limit 25)\nhouse: 1 finding\n'])
})

test('long files, and short files with a single importer, are warnings', () => {
  const { status, output } = checkOver('check-house.ts', {
    'src/db/long.ts': 'export const a = 1\n'.repeat(401),
    'dashboard/src/pages/long.tsx': 'export const a = 1\n'.repeat(401),
    'src/db/lonely.ts': 'export const x = 1\n',
    'src/db/a.ts': from('./lonely.ts') + from('./both.ts'),
    'src/db/b.ts': from('./both.ts'),
    'src/db/both.ts': 'export const x = 1\n',
    'src/db/a.test.ts': from('./lonely.ts'),
  })
  assert.deepEqual(output.trimEnd().split('\n'), [
    'warning: src/db/long.ts:401: 401 lines (limit 400): does it hold one idea?',
    'warning: dashboard/src/pages/long.tsx:401: 401 lines (limit 400): does it hold one idea?',
    'warning: src/db/lonely.ts:1: 1 lines, imported only by src/db/a.ts: merge them?',
  ])
  assert.equal(status, 0)
})

test('comments may name providers and clocks', () => {
  const { status, output } = checkOver('check-house.ts', {
    'src/domain/a.ts':
      '/** Groq sends it so; never Date.now() here. */\nexport const a = /groqapis/ // together with groq\n',
    'src/providers/groq.ts': "export const groq = { id: 'groq' }\n",
    'src/providers/together.ts': '',
  })
  assert.equal(output, '')
  assert.equal(status, 0)
})

const BROKEN_DASHBOARD: readonly (readonly [why: string, file: string, text: string])[] = [
  ['a fetch outside of api/', 'pages/home/a.ts', "export const a = () => fetch('/v1/models')\n"],
  ['fetch handed on', 'lib/a.ts', 'export const a = { fetch: fetch }\n'],
  ['fetch of the window', 'ui/a.ts', "export const a = () => globalThis.fetch('/v1/models')\n"],
  ['an event source of the browser', 'pages/agents/a.ts', "export const a = new EventSource('/v1/agents')\n"],
  ['markup in React', 'ui/a.tsx', 'export const a = <p dangerouslySetInnerHTML={{ __html: b }} />\n'],
  ['markup in the document', 'api/a.ts', "document.body.innerHTML = '<p>'\n"],
  ['eval', 'lib/a.ts', "eval('1')\n"],
  ['a function made of text', 'lib/a.ts', "export const a = new Function('return 1')\n"],
  ['an address of script', 'ui/a.tsx', 'export const a = <a href="javascript:alert(1)">x</a>\n'],
  ['another origin', 'api/a.ts', "export const a = 'https://cdn.acme.io/a.js'\n"],
  ['another origin without scheme', 'api/a.ts', "export const a = '//cdn.acme.io/a.js'\n"],
  ['another origin that is put together', 'api/a.ts', 'export const a = "https://" + b\n'],
  ['another origin in style', 'styles.css', 'a { background: url(https://acme.io/a.png) }\n'],
  ['a default export', 'ui/a.tsx', 'export default 1\n'],
  ['any', 'ui/a.tsx', 'export const a = (b: any) => b\n'],
  ['a module of Node.js', 'lib/a.ts', from('node:fs')],
  ['code of the gateway', 'lib/a.ts', from('../../../src/lib/b.ts')],
  ['code of tests', 'ui/a.ts', from('../../../test/support/b.ts')],
  ['a package in lib/', 'lib/a.ts', from('react')],
  ['the API in lib/', 'lib/a.ts', from('../api/client.ts')],
  ['the API in ui/', 'ui/a.tsx', from('../api/client.ts')],
  ['a page in ui/', 'ui/chart/a.tsx', from('../../pages/home/b.tsx')],
  ['ui in api/', 'api/a.ts', from('../ui/b.tsx')],
  ['a page in the shell', 'shell/a.tsx', from('../pages/home/b.tsx')],
  ["another page's part", 'pages/home/a.tsx', from('../models/b.ts')],
  ['another page that is loaded later', 'pages/home/a.tsx', "export const a = import('../models/b.ts')\n"],
  ['the router in a page', 'pages/home/a.tsx', from('../../router.tsx')],
  ['an unknown folder', 'hooks/a.ts', `export const a = 1\n${from('react')}`],
  [
    'a button that does not say why it is disabled',
    'ui/a.tsx',
    'export const a = <button onClick={() => b()} disabled={c}>Save</button>\n',
  ],
]
for (const [why, file, text] of BROKEN_DASHBOARD) {
  test(`check-dashboard rejects ${why}`, () => {
    const path = `dashboard/src/${file}`
    const { status, output } = checkOver('check-dashboard.ts', { [path]: text })
    assert.equal(status, 1)
    assert.match(output, new RegExp(`^${path.replaceAll('.', '\\.')}:`))
    assert.match(output, /\ndashboard: 1 finding\n$/)
  })
}

test('allowed code and imports of the dashboard pass', () => {
  const { status, output } = checkOver('check-dashboard.ts', {
    'dashboard/src/api/client.ts': `export const a = () => fetch('/v1/models')\n${from('openapi-fetch')}`,
    'dashboard/src/api/schema.d.ts': '/** https://acme.io */\nexport type A = any\n'.repeat(301),
    'dashboard/src/lib/a.ts': `${from('./b.ts')}export const words = "we could not fetch it"\n`,
    'dashboard/src/lib/a.test.ts': `${from('node:test')}eval('1')\n`,
    'dashboard/src/ui/a.tsx':
      from('../api/problem.ts') +
      from('react') +
      '// see https://acme.io, which never evaluates or sets innerHTML\nexport const b = refetch()\n' +
      'export const c = <p placeholder="https://example.com/hook">Read https://turnpike.dev/docs</p>\n',
    'dashboard/src/pages/settings/keys/a.tsx': from('../search.ts') + from('../../../shell/b.tsx'),
    'dashboard/src/pages/webhooks/a.ts': "export const sample = `\nimport { text } from 'node:stream/consumers'\n`\n",
    'dashboard/src/router.tsx': `import('./pages/home/a.tsx')\n${from('./pages/models/search.ts')}`,
  })
  assert.equal(output, '')
  assert.equal(status, 0)
})

const BROKEN_REPOSITORY: readonly (readonly [why: string, file: string, text: string])[] = [
  ['a path of one machine', 'docs/a.md', `see /${'work'}/main/a.ts`],
  ['a home folder', 'src/a.ts', `export const a = '/${'home'}/someone/x'`],
  ["a registry's host", 'package-lock.json', `"https://registry.${'example'}.com/a.tgz"`],
  ['unfinished work', 'src/a.ts', `// ${'TO' + 'DO'} later`],
  ['a test switched off', 'src/a.test.ts', `test.${'skip'}('x', () => {})`],
]
for (const [why, file, text] of BROKEN_REPOSITORY) {
  test(`check-repository rejects ${why}`, () => {
    const { status, output } = checkOver('check-repository.ts', { [file]: text })
    assert.equal(status, 1)
    assert.match(output, new RegExp(`^${file.replaceAll('.', '\\.')}:1: `))
  })
}

test('replaced phrases are findings everywhere except in the changelog', () => {
  const text = 'nobody knows this name, and there is no way to it.'
  const { status, output } = checkOver('check-language.ts', {
    'docs/a.md': text,
    'CHANGELOG.md': text,
    'docs/decisions/a.md': text,
    'src/cli/a.ts': "export const a = 'a way to put it in place'\n",
  })
  assert.equal(status, 1)
  assert.match(output, /^docs\/a\.md:1: “nobody knows this name”: say host not found$/m)
  assert.match(output, /^docs\/a\.md:1: “no way to it”: say no route to host$/m)
  assert.doesNotMatch(output, /CHANGELOG|decisions|src\/cli/)
})

test('comments are removed without changing addresses and line numbers', () => {
  const code = withoutComments("/* a\n b */const url = 'https://example.com' // c\n  // d\nnext()")
  assert.deepEqual(
    code.split('\n').map((line) => line.trim()),
    ['', "const url = 'https://example.com'", '', 'next()'],
  )
})

const LIMITS = '| what | cap | beyond it | where | proved by |\n|---|---|---|---|---|\n'
const limit = (caps: string, where: string, proof = '`an-id` in `src/a.test.ts`'): string =>
  `| what | ${caps} | beyond | ${where} | ${proof} |\n`
const LIMITED = {
  'src/a.ts': 'export const A = 16 * 1024, B = 10_000, C = 5_000, D = 0.85 // 7\n',
  'src/b.ts': 'export const E = 500\n',
  'src/a.test.ts':
    "// [limit: a-comment]\ntest('OVL-1: it ends [limit: an-id]', () => {})\ntest(`so [limit: other]`, () => {})\n",
}

test('a limit of docs/limits.md with its number in the code and a test passes', () => {
  const page =
    LIMITS +
    limit('16 KiB, 10 000 fields, for 5 s, 85 %', '`src/a.ts`') +
    limit('by plan; 500 unless set', '`plans.*.max_in_flight`, `src/b.ts`', '`other` in `src/a.test.ts`')
  assert.deepEqual(checkOver('check-limits.ts', { ...LIMITED, 'docs/limits.md': page }), { status: 0, output: '' })
})

test('a constant without a row is a finding, except in formats and commands', () => {
  const code = 'export const MAX_A = 1\nconst MAX_B_BYTES = 2\n'
  const files = { 'docs/limits.md': LIMITS, 'src/lib/a.ts': code, 'src/cli/a.ts': code, 'src/lib/a.test.ts': code }
  const { output } = checkOver('check-limits.ts', files)
  const [first, second] = ['MAX_A', 'MAX_B_BYTES'].map((name) => `src/lib/a.ts: ${name} is in no row of docs/limits.md`)
  assert.equal(output, `${first}\n${second}\nlimits: 2 findings\n`)
})

test('a wrong number, a missing file and a missing test are one finding each', () => {
  const page =
    LIMITS +
    limit('17 KiB', '`src/a.ts`') +
    limit('7', '`src/a.ts`') +
    limit('5 s', '`src/gone.ts`') +
    limit('5 s', '`a.setting`') +
    limit('5 s', '`src/a.ts`', '') +
    limit('5 s', '`src/a.ts`', '`a-comment` in `src/a.test.ts`') +
    limit('5 s', '`src/a.ts`', '`x` in `src/gone.test.ts`')
  const { status, output } = checkOver('check-limits.ts', { ...LIMITED, 'docs/limits.md': page })
  assert.equal(status, 1)
  const lines = [
    /limits\.md:3: src\/a\.ts has no 17408, /,
    /limits\.md:4: src\/a\.ts has no 7,/,
    /limits\.md:5: there is no src\/gone\.ts/,
    /limits\.md:6: name the file below src\//,
    /limits\.md:7: 'what' has no proof: end its row with/,
    /limits\.md:8: 'what': no test of src\/a\.test\.ts has \[limit: a-comment\] in its name/,
    /limits\.md:9: 'what': there is no src\/gone\.test\.ts/,
    /'an-id' is the id of several rows/,
    /^limits: 8 findings/,
  ]
  for (const [index, line] of lines.entries()) assert.match(output.split('\n')[index] ?? '', line)
})
