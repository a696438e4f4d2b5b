import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { plainSandbox } from '../../../test/support/agents/plain-sandbox.ts'
import type { Sandbox } from '../ports.ts'
import { finishSummary, type RequestedCall, runTool } from './calls.ts'
import { DEFAULT_COMMAND_MS } from './limits.ts'
import type { ToolOutcome } from './tool.ts'

function workspace(t: TestContext, files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const sandbox = plainSandbox()
  t.after(() => sandbox.close())
  const path = (name: string) => join(sandbox.directory, name)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(path(name), '..'), { recursive: true })
    writeFileSync(path(name), content)
  }
  const call = (name: string, given: unknown, outputBytes = 16_384): Promise<ToolOutcome> => {
    const json = typeof given === 'string' ? given : JSON.stringify(given)
    const signal = AbortSignal.timeout(300_000)
    return runTool(
      { name, arguments: json, isCut: false, isTooLong: false },
      { sandbox, signal, outputBytes, commandTimeoutMs: 120_000 },
    )
  }
  const failure = async (name: string, given: unknown): Promise<string> => {
    const { hasFailed, output } = await call(name, given)
    assert.equal(hasFailed, true, output)
    return output
  }
  return { path, call, failure, read: (name: string) => readFileSync(path(name), 'utf8') }
}

test('shell: output, errors, exit code and duration are told', async (t) => {
  const { call } = workspace(t)
  const failed = await call('shell', { command: 'echo out; echo err >&2; exit 3' })
  assert.match(failed.output, /^exit code 3, after \d+\.\d s\nout\n--- stderr\nerr$/)
  assert.equal(failed.exitCode, 3)
  assert.equal(failed.hasFailed, true)
  const quiet = await call('shell', { command: 'true' })
  assert.match(quiet.output, /^exit code 0, after \d+\.\d s, no output$/)
  assert.equal(quiet.hasFailed, false)
})

test('shell: a long output loses its middle and says how much, never more than 64 kB go to the model [limit: command-output]', async (t) => {
  const { call } = workspace(t)
  const long = { command: 'seq 1 20000; echo wrong >&2' }
  const usual = await call('shell', long)
  assert.equal(usual.truncated, true)
  assert.match(usual.output, /\n1\n2\n[\s\S]*\[… \d+ \d+ bytes cut …\][\s\S]*\n20000\n--- stderr\nwrong$/)
  assert.ok(Buffer.byteLength(usual.output) <= 16_384 + 100)
  const most = await call('shell', { ...long, output_bytes: 10_000_000 })
  assert.ok(Buffer.byteLength(most.output) <= 65_536 + 100)
  assert.ok(most.output.length > 60_000)
  const least = await call('shell', { ...long, output_bytes: 1 })
  assert.ok(Buffer.byteLength(least.output) <= 400)
})

test('shell: a flood on both streams leaves each its part', async (t) => {
  const { call } = workspace(t)
  const { output } = await call('shell', { command: 'seq 1 9000; seq 1 9000 >&2' }, 4_000)
  const [stdout = '', stderr = ''] = output.split('--- stderr')
  assert.ok(stdout.length > 900 && stderr.length > 900)
  assert.ok(Buffer.byteLength(output) <= 4_100)
})

test('shell: what takes too long is stopped and told so', async (t) => {
  const { call } = workspace(t)
  // Long enough for its first line, which a busy machine may need to be longer.
  const stopped = async (seconds: number): Promise<ToolOutcome> => {
    const outcome = await call('shell', { command: 'echo begun; sleep 600', timeout_seconds: `${seconds}` })
    return outcome.output.includes('begun') || seconds > 60 ? outcome : stopped(5 * seconds)
  }
  const { output, exitCode } = await stopped(3)
  assert.match(output, /^stopped: it took too long, after \d+\.\d s\nbegun$/)
  assert.equal(exitCode, null)
})

test('SBX-6 shell: terminal escapes, other controls and broken UTF-8 do not come out', async (t) => {
  const { call } = workspace(t)
  const command = String.raw`printf '\033[31mred\033[0m \033]0;title\007 a\000b\010c\r\nd \377\302'`
  const { output } = await call('shell', { command })
  assert.match(output, /\nred {2}abc\nd \ufffd\ufffd$/)
})

test('shell: a command has the time that it asks for, ten minutes at most, two unless it asks [limit: command-time]', async () => {
  const times: number[] = []
  const result = { exitCode: 0, stdout: '', stderr: '', truncated: false, durationMs: 1 }
  const run: Sandbox['run'] = async ({ timeoutMs }) => {
    times.push(timeoutMs)
    return result
  }
  const given = {
    sandbox: { run, close: async () => {} },
    signal: AbortSignal.timeout(300_000),
    outputBytes: 1_000,
    commandTimeoutMs: DEFAULT_COMMAND_MS,
  }
  for (const timeout_seconds of [30, 0, 600, 601, 1e9, undefined]) {
    const json = JSON.stringify({ command: 'true', timeout_seconds })
    await runTool({ name: 'shell', arguments: json, isCut: false, isTooLong: false }, given)
  }
  assert.deepEqual(times, [30_000, 1_000, 600_000, 600_000, 600_000, 120_000])
})

test('a command, a path and a pattern of the most bytes are taken, one more is not [limit: tool-texts]', async (t) => {
  const { call, failure } = workspace(t)
  const command = (bytes: number) => ({ command: `: ${'x'.repeat(bytes - 2)}` })
  const path = (bytes: number) => ({ path: 'a/'.repeat(bytes / 2) + 'b'.repeat(bytes % 2) })
  const pattern = (bytes: number) => ({ pattern: 'a'.repeat(bytes) })
  assert.equal((await call('shell', command(65_536))).hasFailed, false)
  assert.match(await failure('shell', command(65_537)), /Write it to a file/)
  assert.match(await failure('view', path(1_024)), /There is no/)
  assert.match(await failure('view', path(1_025)), /`path` is too long/)
  assert.equal((await call('search', pattern(4_096))).hasFailed, false)
  assert.match(await failure('search', pattern(4_097)), /`pattern` is too long/)
})

test('shell: mistakes that leave no doubt are forgiven', async (t) => {
  const { call, failure } = workspace(t, { 'a b': 'x' })
  const spellings: [string, unknown][] = [
    ['bash', { cmd: 'echo it' }],
    ['functions.shell', { command: ['bash', '-lc', 'echo it'] }],
    ['shell', { command: ['echo', 'it'] }],
    ['shell', '"echo it"'],
    ['Shell', '```json\n{"command": "echo\nit",}\n```'.replace('echo\nit', 'echo it')],
    ['shell', JSON.stringify(JSON.stringify({ command: 'echo it' }))],
  ]
  for (const [name, given] of spellings) {
    const { output } = await call(name, given)
    assert.match(output, /\nit$/, `${name} ${JSON.stringify(given)}: ${output}`)
  }
  assert.match((await call('shell', '{"command": "cat <<E\none\ntwo\nE"}')).output, /\none\ntwo$/)
  assert.match((await call('shell', { command: ['ls', 'a b'] })).output, /\na b$/)
  assert.match(await failure('shell', {}), /`command` is missing/)
  assert.match(await failure('shell', { command: 'echo \0' }), /NUL/)
})

test('what is no call is told, and what would be one', async (t) => {
  const { failure } = workspace(t)
  assert.match(await failure('fly', {}), /no tool 'fly'.*shell, view, edit, create, search, finish/)
  assert.match(await failure('shell', '{"command": "ls'), /no JSON object/)
  assert.match(await failure('constructor', {}), /no tool/)
  assert.match(await failure('view', { path: ['a'] }), /`path` must be a string/)
  assert.match(await failure('view', { path: 'a', start_line: 'x' }), /`start_line` must be a number/)
})

test('view: lines have numbers, and a part can be asked for', async (t) => {
  const { call, failure } = workspace(t, { 'a.txt': 'one\ntwo\nthree', empty: '' })
  assert.equal((await call('view', { path: 'a.txt' })).output, './a.txt, lines 1 to 3 of 3:\n1  one\n2  two\n3  three')
  const part = await call('view', { file: '/workspace/a.txt', start_line: '2', end_line: 2 })
  assert.equal(part.output, './a.txt, lines 2 to 2 of 3:\n2  two')
  assert.equal((await call('view', { path: 'a.txt', start_line: 3, end_line: -1 })).output.split('\n').length, 2)
  assert.equal((await call('view', { path: 'empty' })).output, './empty is empty.')
  assert.match(await failure('view', { path: 'a.txt', start_line: 9 }), /has 3 lines/)
  assert.match(await failure('view', { path: 'a.txt', start_line: 3, end_line: 2 }), /before/)
  assert.match(await failure('view', { path: 'b.txt' }), /There is no \.\/b\.txt/)
})

test('view: a long file comes in parts, a long line is cut', async (t) => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1}`).join('\n')
  const { call } = workspace(t, { long: lines, wide: 'x'.repeat(5_000) })
  const first = await call('view', { path: 'long' }, 2_000)
  const [, next] = /\[view it with start_line (\d+) for more\]$/.exec(first.output) ?? []
  assert.equal(first.truncated, true)
  assert.match(
    (await call('view', { path: 'long', start_line: Number(next) }, 2_000)).output,
    new RegExp(`${next} {2}line ${next}\n`),
  )
  assert.match((await call('view', { path: 'wide' })).output, /x \[… 3 000 characters cut …\]$/)
})

test('view: directories are listed, binary files named, pipes and devices not opened', async (t) => {
  const { call, failure, path } = workspace(t, { 'src/a.ts': 'a', bin: Buffer.from([1, 0, 2]), "it's": 'quoted' })
  execFileSync('mkfifo', [path('pipe')])
  symlinkSync('/dev/zero', path('zero'))
  assert.equal((await call('view', { path: 'src' })).output, './src:\na.ts')
  assert.match((await call('view', {})).output, /^\.:\nbin\nit's\npipe\nsrc\/\nzero/)
  assert.equal((await call('view', { path: 'bin' })).output, './bin is a binary file of 3 bytes.')
  assert.match((await call('view', { path: "it's" })).output, /quoted/)
  assert.match(await failure('view', { path: 'pipe' }), /neither a file nor a directory/)
  assert.match(await failure('view', { path: 'zero' }), /neither/)
})

test('paths outside of the workspace are refused in every spelling', async (t) => {
  const { failure } = workspace(t, { a: 'a' })
  for (const path of ['/etc/passwd', '../x', 'a/../../x', '/workspace/../etc/passwd', '/workspaces/a', '//etc', '..']) {
    assert.match(await failure('view', { path }), /within \/workspace/, path)
    assert.match(await failure('create', { path, content: '' }), /within \/workspace/, path)
    assert.match(await failure('search', { pattern: 'a', path }), /within \/workspace/, path)
  }
  assert.match(await failure('view', { path: 'a\nb' }), /line ends or control/)
  assert.match(await failure('view', { path: 'a\u001b[0m' }), /line ends or control/)
})

test('a path is never a command or an option', async (t) => {
  const names = ['$(touch owned)', '`touch owned`', '-rf', "'; touch owned; '", '--help', '*']
  const { call, read } = workspace(t)
  for (const name of names) {
    await call('create', { path: name, content: name })
    assert.equal(read(name), name)
    assert.match((await call('view', { path: name })).output, /lines 1 to 1/)
    assert.match((await call('search', { pattern: 'touch|-|\\*', path: name })).output, /:1:/)
  }
  assert.throws(() => read('owned'), /ENOENT/)
})

test('edit: replaces what occurs once, and shows it', async (t) => {
  const { call, read, path } = workspace(t, { 'a.js': 'one\ntwo\nthree\n' })
  chmodSync(path('a.js'), 0o755)
  const { output, hasFailed } = await call('edit', { path: 'a.js', old: 'two', new: 'TWO $& \\1' })
  assert.equal(hasFailed, false)
  assert.match(output, /Replaced in \.\/a\.js\. Now:\n1 {2}one\n2 {2}TWO/)
  assert.equal(read('a.js'), 'one\nTWO $& \\1\nthree\n')
  assert.equal(statSync(path('a.js')).mode & 0o777, 0o755)
  await call('str_replace', { file_path: 'a.js', old_str: '\nthree', new_str: '' })
  assert.equal(read('a.js'), 'one\nTWO $& \\1\n')
})

test('edit: what occurs more often is refused with the lines, or replaced everywhere', async (t) => {
  const { call, failure, read } = workspace(t, { a: 'x = 1\ny = 2\nx = 1\n' })
  assert.match(await failure('edit', { path: 'a', old: 'x = 1', new: 'x = 3' }), /occurs 2 times, at lines 1, 3\./)
  assert.equal(read('a'), 'x = 1\ny = 2\nx = 1\n')
  assert.match((await call('edit', { path: 'a', old: 'x = 1', new: 'x = 3', replace_all: 'true' })).output, /2 times/)
  assert.equal(read('a'), 'x = 3\ny = 2\nx = 3\n')
})

test('edit: what does not occur is refused with what is near', async (t) => {
  const { failure } = workspace(t, { a: 'function add(a, b) {\n  return a - b\n}\n' })
  assert.match(
    await failure('edit', { path: 'a', old: 'return a + c + b', new: '' }),
    /Near to it are:[\s\S]*2 {4}return a - b/,
  )
  assert.match(
    await failure('edit', { path: 'a', old: 'return  a - b\n  }', new: '' }),
    /other white space it is at line 2/,
  )
  assert.match(await failure('edit', { path: 'a', old: '2    return a + b', new: '' }), /leave those out/)
  assert.match(await failure('edit', { path: 'a', old: 'quite something else', new: '' }), /view the file/)
  assert.match(await failure('edit', { path: 'a', old: 'add', new: 'add' }), /the same/)
  assert.match(await failure('edit', { path: 'b', old: 'add', new: 'sub' }), /There is no/)
  assert.match(await failure('edit', { path: 'a', old: 'add' }), /`new` is missing/)
})

test('edit: line ends of Windows stay, text in other encodings and large files are left alone [limit: edited-file]', async (t) => {
  const large = 'a'.repeat(700_001)
  const { call, failure, read } = workspace(t, { crlf: 'a\r\nb\r\nc\r\n', latin: Buffer.from([0xe9, 0x61]), large })
  await call('edit', { path: 'crlf', old: 'a\nb', new: 'a\nB\nb' })
  assert.equal(read('crlf'), 'a\r\nB\r\nb\r\nc\r\n')
  assert.match(await failure('edit', { path: 'latin', old: 'a', new: 'b' }), /not UTF-8/)
  assert.match(await failure('edit', { path: 'large', old: 'b', new: 'c' }), /700 001 bytes: too many/)
})

test('edit: a file of the most bytes that are allowed is edited whole', async (t) => {
  const { call, read } = workspace(t, { full: `${'é'.repeat(349_999)}!\n` })
  assert.equal((await call('edit', { path: 'full', old: '!', new: '?' })).hasFailed, false)
  assert.equal(read('full'), `${'é'.repeat(349_999)}?\n`)
})

test('create: makes directories, and replaces a file only when asked to', async (t) => {
  const { call, failure, read } = workspace(t, { a: 'old', empty: '' })
  assert.equal((await call('create', { path: 'new/deep/b', content: 'b\n' })).output, 'Wrote 2 bytes to ./new/deep/b.')
  assert.equal(read('new/deep/b'), 'b\n')
  assert.match(await failure('create', { path: 'a', content: 'new' }), /is there already/)
  await call('write_file', { path: 'a', content: 'new', overwrite: true })
  assert.equal(read('a'), 'new')
  await call('create', { path: 'empty', content: 'full' })
  await call('edit', { path: 'by/edit', old: '', new: 'made' })
  assert.deepEqual([read('empty'), read('by/edit')], ['full', 'made'])
  assert.match(await failure('create', { path: 'new', content: '' }), /is no file/)
  assert.match(await failure('create', { path: '.', content: '' }), /must name a file/)
  assert.match(await failure('create', { path: 'a/b', content: '' }), /could not be written: /)
})

test('search: lines with path and number, in files alone', async (t) => {
  const { call, failure } = workspace(t, {
    'src/a.ts': 'export function add() {}\nadd()\n',
    '.git/config': 'add',
    bin: Buffer.from([0, 97, 100, 100]),
    b: 'nothing\n',
  })
  const { output } = await call('search', { pattern: '^export (function|const) add' })
  assert.equal(output, 'src/a.ts:1:export function add() {}')
  assert.equal((await call('search', { pattern: 'add\\(\\)$', path: 'src' })).output, 'src/a.ts:2:add()')
  assert.equal((await call('search', { pattern: 'zzz' })).output, 'No line matches.')
  assert.match(
    (await call('search', { pattern: 'add(' })).output,
    /looked for as it is\.\nsrc\/a\.ts:1:[\s\S]*:2:add\(\)/,
  )
  assert.match(await failure('search', { pattern: 'a', path: 'zzz' }), /no such/)
  assert.match(await failure('search', { pattern: '' }), /not empty/)
})

test('search: many matches and long lines are cut and said so', async (t) => {
  const { call } = workspace(t, { many: 'match\n'.repeat(5_000), wide: `match${'x'.repeat(5_000)}` })
  const { output, truncated } = await call('search', { pattern: 'match', path: 'many' })
  assert.equal(output.split('\n').length, 201)
  assert.match(output, /more than 200 lines match/)
  assert.equal(truncated, true)
  assert.ok((await call('search', { pattern: 'match', path: 'wide' })).output.length < 320)
})

test('finish: the summary in whatever way it is said', () => {
  const finish = (json: string, more: Partial<RequestedCall> = {}) =>
    finishSummary({ name: 'finish', arguments: json, isCut: false, isTooLong: false, ...more })
  assert.equal(finish('{"summary": "Fixed."}'), 'Fixed.')
  assert.equal(finish('{"message": "Fixed."}', { name: 'done' }), 'Fixed.')
  assert.equal(finish('"Fixed."'), 'Fixed.')
  assert.equal(finish(''), '')
  assert.equal(finish('{"summary": ["a"]}'), '{"summary":["a"]}')
  assert.equal(finish('{broken'), '')
  assert.equal(finish('{"summary": "Fi', { isCut: true }), undefined)
  assert.equal(finish('{}', { name: 'shell' }), undefined)
})
