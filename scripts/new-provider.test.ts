import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { identifierOf, idProblem, registered } from './kit/provider-files.ts'
import { readArguments } from './new-provider.ts'
import { ROOT } from './source-files.ts'

/** What the kit touches or is checked by. */
const COPIED = [
  'src',
  'scripts',
  'test',
  'packages',
  'catalogue',
  'deploy',
  'docs',
  'package.json',
  'tsconfig.json',
  'biome.json',
]

const copy = mkdtempSync(join(tmpdir(), 'turnpike-new-provider-'))
for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
writeFileSync(join(copy, '.gitignore'), 'node_modules\n')
spawnSync('git', ['init', '--quiet'], { cwd: copy })
after(() => rmSync(copy, { recursive: true }))

interface Outcome {
  readonly status: number | null
  readonly output: string
}

function run(command: string, ...rest: string[]): Outcome {
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const { status, stdout, stderr } = spawnSync(command, rest, { cwd: copy, encoding: 'utf8', env })
  return { status, output: stdout + stderr }
}

const node = (...rest: string[]): Outcome => run(process.execPath, ...rest)
const make = (...rest: string[]): Outcome => node('scripts/new-provider.ts', ...rest)
const read = (path: string): string => readFileSync(join(copy, path), 'utf8')

test('a new host is written, registered and documented, and passes types, lint, conventions and the registry’s contract', () => {
  const made = make('sample-host', '--base-url', 'https://api.samplehost.example/v1/', '--name', 'Sample Host')
  assert.equal(made.status, 0, made.output)
  assert.match(made.output, /1\. Name the page that documents it/)
  assert.match(read('src/providers/sample-host.ts'), /baseUrl: 'https:\/\/api\.samplehost\.example\/v1',/)
  assert.match(read('src/providers/sample-host.ts'), /apiKeyVariable: 'SAMPLE_HOST_API_KEY',/)
  assert.ok(read('src/providers/sample-host.ts').split('\n').length < 20)
  assert.match(read('docs/providers.md'), /\| Sample Host \(`sample-host`\) \|/)

  const again = make('otherhost', '--variable', 'OTHER_KEY', '--source', 'https://docs.otherhost.example')
  assert.equal(again.status, 0, again.output)
  assert.match(again.output, /1\. Set its address/)
  const keyless = make('entry', '--base-url', 'http://127.0.0.1:9000/v1', '--no-variable', '--name', "An 'entry'")
  assert.equal(keyless.status, 2, "a word of the product's code is no name for a host")

  const files = ['sample-host', 'otherhost'].flatMap((id) => [`src/providers/${id}.ts`, `src/providers/${id}.test.ts`])
  const lint = run(join(copy, 'node_modules/.bin/biome'), 'check', ...files, 'src/providers/index.ts')
  assert.equal(lint.status, 0, lint.output)
  // What they import is checked with them; `npm run check` checks the whole project.
  const project = { extends: './tsconfig.json', include: [...files, 'src/providers/index.ts'] }
  writeFileSync(join(copy, 'tsconfig.hosts.json'), JSON.stringify(project))
  const types = run(
    join(copy, 'node_modules/.bin/tsc'),
    '--noEmit',
    '--incremental',
    'false',
    '-p',
    'tsconfig.hosts.json',
  )
  assert.deepEqual(types, { status: 0, output: '' })
  const house = node('scripts/check-house.ts')
  assert.equal(house.status, 0, house.output)
  const tests = node(
    '--test',
    '--test-isolation=none',
    '--test-reporter=tap',
    '--test-name-pattern=sample-host|otherhost|every host|a host has a list',
    ...files.filter((file) => file.endsWith('.test.ts')),
    'src/providers/index.test.ts',
    'src/providers/fields.test.ts',
    'test/contract/golden-requests.test.ts',
  )
  assert.equal(tests.status, 0, tests.output)
  assert.match(tests.output, /ok \d+ - sample-host keeps the registry's contract/)
  assert.match(tests.output, /ok \d+ - otherhost keeps the registry's contract/)
  assert.match(tests.output, /ok \d+ - otherhost is sent what it understands/)
  assert.match(tests.output, /ok \d+ - golden: sample-host receives what its file says/)
  assert.equal(node('scripts/generate-docs.ts', '--check').status, 0)
})

test('a host without keys, and a name with a quote, are written', () => {
  const { status, output } = make(
    'barehost',
    '--base-url',
    'http://127.0.0.1:9000/v1',
    '--no-variable',
    '--name',
    "Bare's",
  )
  assert.equal(status, 0, output)
  assert.match(read('src/providers/barehost.ts'), /name: "Bare's",/)
  assert.doesNotMatch(read('src/providers/barehost.ts'), /apiKeyVariable/)
  assert.equal(node('--test', 'src/providers/barehost.test.ts').status, 0)
})

const REFUSED: readonly (readonly [options: readonly string[], message: RegExp])[] = [
  [[], /^Usage: /],
  [['groq'], /A provider or protocol 'groq' exists already/],
  [['simulator'], /already/],
  [['provider'], /is reserved/],
  [['delete'], /is reserved/],
  [['Upper'], /is not a valid ID/],
  [['a--b'], /is not a valid ID/],
  [['-x'], /^Unknown option|Usage: /],
  [['../x'], /is not a valid ID/],
  [['x'.repeat(41)], /ID exceeds 40 characters/],
  [['pipeline'], /is a word of src\//],
  [['newhost', 'https://api.newhost.example'], /Options need -- before them/],
  [['newhost', '--base-url', 'ftp://a.example'], /must be https/],
  [['newhost', '--base-url', 'http://10.0.0.1:8000'], /must be https/],
  [['newhost', '--source', 'my head'], /--source must be https/],
  [['newhost', '--variable', 'lower'], /not a valid variable of a key/],
  [['newhost', '--variable', 'NEWHOST'], /_KEY or _TOKEN at the end/],
  [['newhost', '--variable', 'GROQ_API_KEY'], /already enables groq/],
  [['newhost', '--no-such'], /Usage: /],
]
for (const [options, message] of REFUSED) {
  test(`refused: ${options.join(' ').slice(0, 60) || 'no name'}`, () => {
    assert.throws(() => readArguments(options), { message })
  })
}

test('an existing name is refused, with nothing written', () => {
  assert.equal(make('twicehost').status, 0)
  const [registry, file] = [read('src/providers/index.ts'), read('src/providers/twicehost.ts')]
  const { status, output } = make('twicehost', '--base-url', 'https://api.twicehost.example')
  assert.equal(status, 2)
  assert.match(output, /already/)
  assert.deepEqual([read('src/providers/index.ts'), read('src/providers/twicehost.ts')], [registry, file])
})

test('a name that the registry uses otherwise gets another identifier', () => {
  assert.equal(identifierOf('new-host', "import { a } from './a.ts'"), 'newHost')
  assert.equal(identifierOf('compatible', 'const compatible = 1'), 'compatibleProvider')
  assert.equal(idProblem('new-host2'), undefined)
})

test('the registry’s list is found on one line and on several, and a file without one is an error', () => {
  const head = "import { a } from './a.ts'\nimport { simulator } from './simulator.ts'\n"
  const oneLine = `${head}export const PROVIDERS: X = Object.fromEntries(\n  [a, simulator].map((p) => [p.id, p]),\n)\n`
  assert.match(registered(oneLine, 'host', 'host'), /import \{ a \}.*\nimport \{ host \} from '.\/host.ts'\nimport/)
  assert.match(registered(oneLine, 'host', 'host'), /\[a, host, simulator\]/)
  const manyLines = `${head}export const PROVIDERS = Object.fromEntries(\n  [\n    a,\n    simulator,\n  ].map((p) => p))\n`
  assert.match(registered(manyLines, 'zhost', 'zhost'), /simulator\.ts'\nimport \{ zhost \} from '.\/zhost.ts'\n/)
  assert.match(registered(manyLines, 'zhost', 'zhost'), /\n {4}a,\n {4}zhost,\n {4}simulator,\n/)
  assert.throws(() => registered(head, 'host', 'host'), /has no list/)
})

test('the example in CONTRIBUTING.md works: its name does not occur in the code', () => {
  const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, words = ''] = /^npm run new:provider -- (.*)$/m.exec(contributing) ?? []
  const { status, output } = make(...words.split(' '))
  assert.equal(status, 0, output)
  assert.match(read('src/providers/acme.ts'), /baseUrl: 'https:\/\/api\.acme\.example\/v1',/)
  assert.match(read('src/providers/acme.ts'), /from '\.\/provider\.ts'/)
  assert.doesNotMatch(node('scripts/check-house.ts').output, /acme/i)
})
