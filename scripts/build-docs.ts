/**
 * `npm run build:docs`: writes the documentation site to `site/dist/`, from the Markdown that people read in the repository,
 * unless there is one of the same sources. Prints nothing unless it fails. See docs/decisions/0022-documentation-site.md.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pageOf, SECTIONS } from '../site/sections.ts'
import { ROOT } from './source-files.ts'

const SITE = join(ROOT, 'site')
const FOLDER = join(SITE, 'dist')
/** Beside the site, which a running gateway serves until the new one is whole. */
const NEW_FOLDER = join(SITE, 'dist.new')
const INPUTS_FILE = 'inputs.txt'
/** Of the configuration file, for editors. */
const SCHEMA = 'turnpike.schema.json'
/** What the site is made of. */
export const INPUTS = [
  'docs/**',
  '*.md',
  'site/.vitepress/{config.ts,theme/**}',
  'site/{api/**,*.ts,*.md}',
  'dashboard/public/**',
  SCHEMA,
]
const SWAGGER = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')

/** Does nothing where the site is of these sources and versions. */
export function buildDocumentation(): void {
  const inputs = hashOfInputs()
  if (readText(join(FOLDER, INPUTS_FILE)) === inputs) return
  rmSync(NEW_FOLDER, { recursive: true, force: true })
  const vitepress = join(ROOT, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
  const words = [vitepress, 'build', SITE, '--outDir', NEW_FOLDER]
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The documentation could not be built.\n${stdout}${stderr}`)
  copyMarkdown()
  addReference()
  cpSync(join(ROOT, SCHEMA), join(NEW_FOLDER, SCHEMA))
  compress()
  writeFileSync(join(NEW_FOLDER, INPUTS_FILE), inputs)
  rmSync(FOLDER, { recursive: true, force: true })
  renameSync(NEW_FOLDER, FOLDER)
}

function hashOfInputs(): string {
  const files = INPUTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'package-lock.json')))
  for (const file of [...files, 'scripts/build-docs.ts']) {
    if (statSync(join(ROOT, file)).isFile()) hash.update(file).update(readFileSync(join(ROOT, file)))
  }
  return hash.digest('hex')
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Every page as it is written, at its address with `.md`, and `llms.txt`, which lists them with a sentence on each. */
function copyMarkdown(): void {
  const texts = new Map<string, string>()
  for (const source of globSync(['docs/**/*.md', '*.md'], { cwd: ROOT })) {
    const page = pageOf(source)
    if (page === undefined) continue
    const text = readFileSync(join(ROOT, source), 'utf8')
    texts.set(page, source.startsWith('docs/') ? text : text.replaceAll('](docs/', ']('))
  }
  for (const [page, text] of texts) writeTo(page, text)
  const sections = SECTIONS.map(({ text, pages }) => {
    const lines = pages.map(
      ([title, page, summary]) => `- [${title}](${addressOf(page)}): ${summary ?? summaryOf(texts, page)}`,
    )
    return `## ${text}\n\n${lines.join('\n')}\n`
  })
  writeTo(
    'llms.txt',
    `# Turnpike\n\n> ${summarize(readFileSync(join(ROOT, 'README.md'), 'utf8'))}\n\n${sections.join('\n')}`,
  )
}

const addressOf = (page: string): string => (page === 'api/' ? '/openapi.json' : `/docs/${fileOf(page)}`)

function fileOf(page: string): string {
  return page.endsWith('/') ? `${page}index.md` : `${page}.md`
}

function summaryOf(texts: ReadonlyMap<string, string>, page: string): string {
  const summary = summarize(texts.get(fileOf(page)) ?? '')
  if (summary === '') throw new Error(`site/sections.ts: the page ${page} has no first sentence; give it a summary.`)
  return summary
}

/** The first sentence that is not code. */
function summarize(markdown: string): string {
  const paragraphs = markdown.replace(/^```[\s\S]*?^```$/gm, '').split(/\n\s*\n/)
  const text = paragraphs.find((each) => /^[A-Z`@].*/.test(each)) ?? ''
  const plain = text.replaceAll('\n', ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return /^.*?\.(?=\s|$)|^.*?:(?=$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain
}

/** The API reference: a page of its own, with the files of Swagger UI. */
function addReference(): void {
  cpSync(join(SITE, 'api'), join(NEW_FOLDER, 'api'), { recursive: true })
  for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css'])
    cpSync(join(SWAGGER, name), join(NEW_FOLDER, 'api', name))
}

function writeTo(path: string, text: string): void {
  mkdirSync(dirname(join(NEW_FOLDER, path)), { recursive: true })
  writeFileSync(join(NEW_FOLDER, path), text)
}

/** Each file becomes its compressed form. */
function compress(): void {
  for (const name of globSync('**/*', { cwd: NEW_FOLDER })) {
    const path = join(NEW_FOLDER, name)
    if (!statSync(path).isFile()) continue
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }))
    rmSync(path)
  }
}

if (import.meta.main) buildDocumentation()
