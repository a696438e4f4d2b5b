/** The built documentation, file by file; how it is served is in `test/e2e/pages.test.ts`. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { pageOf, SECTIONS } from '../site/sections.ts'
import { buildDocumentation } from './build-docs.ts'
import { ROOT } from './source-files.ts'

const FOLDER = join(ROOT, 'site', 'dist')
/** What other parts of the gateway serve. */
const ELSEWHERE = new Set(['/app/', '/openapi.json'])

before(buildDocumentation)

const read = (name: string): string => gunzipSync(readFileSync(join(FOLDER, name))).toString()
const pageNames = (): readonly string[] => globSync('**/*.html.gz', { cwd: FOLDER })
const addressOf = (name: string): string => `/docs/${name.replace('.html.gz', '').replace(/(^|\/)index$/, '$1')}`
const valuesOf = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) => value)

test('every link of every page leads to a page or file, and every anchor is on it', () => {
  const anchors = new Map<string, ReadonlySet<string>>()
  const links: { readonly page: string; readonly href: string }[] = []
  for (const name of pageNames()) {
    const html = read(name)
    const page = addressOf(name)
    anchors.set(page, new Set(valuesOf(html, 'id')))
    links.push(...[...valuesOf(html, 'href'), ...valuesOf(html, 'src')].map((href) => ({ page, href })))
  }
  const files = new Set(globSync('**/*.gz', { cwd: FOLDER }).map((name) => `/docs/${name.replace(/\.gz$/, '')}`))
  const broken = links.filter(({ page, href }) => {
    const { origin, pathname, hash } = new URL(href, `http://site${page}`)
    if (origin !== 'http://site' || ELSEWHERE.has(pathname) || files.has(pathname)) return false
    const ids = anchors.get(pathname)
    return ids === undefined || (hash !== '' && !ids.has(decodeURIComponent(hash.slice(1))))
  })
  assert.ok(anchors.size > 80 && links.length > 5_000)
  assert.deepEqual(broken, [])
})

test('every Markdown file of docs/ is a page in one section, and nothing is inline', () => {
  const listed = SECTIONS.flatMap(({ pages }) => pages.map(([, page]) => page.replace(/\/$/, '/index')))
  const sources = globSync('docs/**/*.md', { cwd: ROOT }).filter((path) => !/^docs\/decisions\/\d/.test(path))
  const pages = sources.map((path) => pageOf(path)?.replace(/\.md$/, '') ?? '')
  assert.deepEqual(
    pages.filter((page) => listed.filter((each) => each === page).length !== 1),
    [],
  )
  for (const name of pageNames())
    assert.doesNotMatch(read(name), /<style| style="|<script(?![^>]* src=)| on\w+="/, name)
})

test('llms.txt has every page of the sections with one sentence, and the API description', () => {
  const lines = read('llms.txt.gz').split('\n')
  const found = lines
    .flatMap((line) => /^- \[.+?\]\((\S+)\): ([A-Z`@].*\.)$/.exec(line) ?? [])
    .filter((_, at) => at % 3 === 1)
  const pages = SECTIONS.flatMap((section) => section.pages.map(([, page]) => page))
  const expected = pages.map((page) =>
    page === 'api/' ? '/openapi.json' : `/docs/${page.replace(/\/$/, '/index')}.md`,
  )
  assert.deepEqual(found, expected)
})

test('the site is small: under 2.2 MB compressed, with the API reference, and 0.6 MB of pictures', () => {
  const bytesOf = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + readFileSync(join(FOLDER, name)).length, 0)
  const names = globSync('**/*.gz', { cwd: FOLDER })
  const pictures = names.filter((name) => name.endsWith('.webp.gz'))
  assert.ok(pictures.length > 0)
  assert.ok(bytesOf(pictures) < 600_000)
  assert.ok(bytesOf(names) - bytesOf(pictures) < 2_200_000)
})
