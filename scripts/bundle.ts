/**
 * Writes the bundle that a clone starts from, unless there is one of the sources as they are: see
 * docs/decisions/0020-a-clone-starts-from-a-bundle.md. `npm ci`, `npm test` and `npm run bench` run it.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type OutputChunk, rolldown } from 'rolldown'
import { BUNDLE_FOLDER, INPUTS_FILE, isFresh } from '../bin/bundle.js'
import { ROOT } from './source-files.ts'

/** The command line, and what is started by its path: threads find their files beside the code that starts them. */
const ENTRIES = {
  turnpike: 'src/cli/main.ts',
  worker: 'src/db/sqlite/worker.ts',
  program: 'src/features/credit/ledger/sqlite/program.ts',
  'body-worker': 'src/gateway/body-worker.ts',
  'token-worker': 'src/gateway/usage/token-worker.ts',
  'work-worker': 'src/runner/loop/work-worker.ts',
}

/** Packages with native code or threads of their own, and large ones that most processes never load. */
const EXTERNAL = [
  /^(?:pino|pino-pretty|pg|ioredis|google-auth-library|nodemailer|stripe|@fastify\/ajv-compiler)$/,
  /^(?:@napi-rs|@aws-\w+|@smithy|gpt-tokenizer)\b/,
]

/** Changes whenever npm installs another version of anything. */
const INSTALLED = 'node_modules/.package-lock.json'

/** A process that started from an older bundle imports more of it later. */
const KEPT_MS = 7 * 86_400_000

async function writeBundle(): Promise<void> {
  const startedAt = Date.now()
  const bundle = await rolldown({ cwd: ROOT, input: ENTRIES, platform: 'node', external: EXTERNAL })
  const { output } = await bundle.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: false, jsdoc: false },
  })
  await bundle.close()
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk')
  const inputs = inputsOf(
    chunks.flatMap(({ moduleIds }) => moduleIds),
    startedAt,
  )
  mkdirSync(BUNDLE_FOLDER, { recursive: true })
  rmSync(INPUTS_FILE, { force: true })
  for (const { fileName, code } of chunks) {
    replaceFile(join(BUNDLE_FOLDER, fileName), escapeNonAscii(withoutFacades(code)))
  }
  replaceFile(INPUTS_FILE, JSON.stringify(inputs))
  removeOldFiles()
}

/** As `[path, size, mtimeMs]`. A file that changed while it was read counts as changed: its time is not that of the list. */
function inputsOf(moduleIds: readonly string[], startedAt: number): readonly (readonly [string, number, number])[] {
  const paths = moduleIds.filter((id) => id.startsWith(ROOT)).map((id) => relative(ROOT, id))
  const sources = paths.filter((path) => !path.startsWith('node_modules'))
  return [...sources, INSTALLED].map((path) => {
    const { size, mtimeMs } = statSync(join(ROOT, path))
    return [path, size, mtimeMs < startedAt ? mtimeMs : 0]
  })
}

/**
 * Takes modules of Node.js as `require` does. An `import` reads every one of their exports, and with those of `node:http`
 * alone Node.js loads its own `fetch`.
 */
function withoutFacades(code: string): string {
  return code.replaceAll(/^import (?:(\w[\w$]*)|(\{[^}]*\})) from ("node:[^"]+");$/gm, (_, name, names, module) => {
    const pattern = name ?? names.replaceAll(' as ', ': ')
    return `const ${pattern} = process.getBuiltinModule(${module});`
  })
}

/** V8 holds a file with other characters in memory with two bytes for each. */
function escapeNonAscii(code: string): string {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

function removeOldFiles(): void {
  for (const name of readdirSync(BUNDLE_FOLDER)) {
    const path = join(BUNDLE_FOLDER, name)
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { force: true })
  }
}

if (!isFresh()) await writeBundle()
