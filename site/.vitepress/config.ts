/** The documentation site: VitePress over the Markdown of the repository, without inline scripts and styles. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'
import { transformerStyleToClass } from '@shikijs/transformers'
import { defineConfig, type MarkdownRenderer } from 'vitepress'
import { searchBoxRoles } from '../search-box.ts'
import { pageOf, SECTIONS } from '../sections.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const BASE = '/docs/'
/** What has Markdown and is no page. */
const EXCLUDED = ['bench', 'bin', 'catalogue', 'dashboard', 'deploy', 'dist', 'packages', 'scripts', 'src', 'test']

const WIDE_PAGES = new Set(['errors.md', 'requirements.md'])

const codeStyles = transformerStyleToClass({ classPrefix: 'code-' })
const inlineScripts = new Map<string, string>()

/** As GitHub makes them, so that a link works there and here. */
function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

/** Links of the repository's files become links of pages; what is no page is text. */
function resolveLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('repository_links', ({ tokens, env }) => {
    const folder = posix.dirname(relative(ROOT, env.realPath ?? env.path).replaceAll(sep, '/'))
    for (const { children } of tokens) {
      let isDropped = false
      for (const token of children ?? []) {
        const address = token.type === 'link_open' ? String(token.attrGet('href')) : undefined
        if (address !== undefined && !/^(?:[a-z]+:|[#/])/i.test(address)) {
          const page = addressOf(folder, address)
          isDropped = page === undefined
          if (page !== undefined) token.attrSet('href', page)
        }
        if (isDropped && token.type.startsWith('link_')) {
          isDropped = token.type === 'link_open'
          Object.assign(token, { type: 'text', content: '' })
        }
      }
    }
  })
}

function addressOf(folder: string, address: string): string | undefined {
  const [path = '', hash] = address.split('#')
  const target = posix.join(folder, path)
  if (target === 'README.md') return '/quick-start'
  const page = pageOf(target.endsWith('/') ? `${target}README.md` : target)
  return page === undefined ? undefined : `/${page}${hash === undefined ? '' : `#${hash}`}`
}

/** Code with `{{` is not a template. */
function keepBraces(md: MarkdownRenderer): void {
  md.core.ruler.push('keep_braces', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'code_inline') token.attrSet('v-pre', '')
    }
  })
}

/** A row of the errors is found by its code: `/docs/errors#missing_field`. */
function nameRows(md: MarkdownRenderer): void {
  md.core.ruler.push('error_rows', ({ tokens, env }) => {
    if (!String(env.realPath ?? env.path).endsWith('errors.md')) return
    for (const [index, token] of tokens.entries()) {
      const code = token.type === 'tr_open' ? tokens[index + 2]?.children?.[0] : undefined
      if (code?.type === 'code_inline') token.attrSet('id', code.content)
    }
  })
}

/** Screen readers announce every header, and have nothing to say of an empty one. */
function dropEmptyHeaders(md: MarkdownRenderer): void {
  md.core.ruler.push('empty_headers', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      const close = tokens[index + 2]
      if (token.type === 'th_open' && tokens[index + 1]?.content === '' && close !== undefined) {
        token.tag = 'td'
        close.tag = 'td'
      }
    }
  })
}

function sidebarItem([text, page]: readonly [string, string]) {
  // The API reference is a page of its own, with headers of its own.
  return { text, link: `/${page}`, ...(page === 'api/' && { target: '_self' }) }
}

/** Before anything is painted: who chose a theme in the dashboard has it here, until another one is chosen here. */
const DASHBOARD_THEME = `;(() => {
  try {
    const theme = localStorage.getItem('turnpike.theme')
    if (theme && !localStorage.getItem('vitepress-theme-appearance')) localStorage.setItem('vitepress-theme-appearance', theme)
  } catch {}
})()`

const codeFile = (): string => {
  const css = codeStyles.getCSS()
  return `assets/code.${createHash('sha256').update(css).digest('hex').slice(0, 8)}.css`
}

// biome-ignore lint/style/noDefaultExport: VitePress looks for it.
export default defineConfig({
  base: BASE,
  srcDir: ROOT,
  srcExclude: ['README.md', 'CODE_OF_CONDUCT.md', 'site/dist*/**', ...EXCLUDED.map((folder) => `${folder}/**`)],
  outDir: './dist',
  additionalConfig: {},
  rewrites: (source) => pageOf(source) ?? source,
  cleanUrls: true,
  // Else a change of the theme adds a style to the page.
  appearance: { disableTransition: false },
  lang: 'en',
  title: 'Turnpike',
  description: 'An open-source LLM gateway: one endpoint for every provider, exact usage, precise errors.',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${BASE}favicon.svg` }],
    ['script', { id: 'dashboard-theme' }, DASHBOARD_THEME],
  ],
  markdown: {
    attrs: false,
    emoji: false,
    footnote: false,
    anchor: { slugify: slugOf },
    codeTransformers: [codeStyles],
    config(md) {
      resolveLinks(md)
      keepBraces(md)
      nameRows(md)
      dropEmptyHeaders(md)
    },
  },
  themeConfig: {
    logo: { src: '/favicon.svg', alt: '' },
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Clients', link: '/clients/' },
      { text: 'API reference', link: '/api/', target: '_self', noIcon: true },
    ],
    sidebar: SECTIONS.map(({ text, isFolded = false, pages }) => ({
      text,
      collapsed: isFolded,
      items: pages.map(sidebarItem),
    })),
    notFound: { linkText: 'Go to the start', linkLabel: 'Go to the start' },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
  vite: {
    publicDir: join(ROOT, 'dashboard', 'public'),
    plugins: [searchBoxRoles()],
    build: { chunkSizeWarningLimit: 4_000, assetsInlineLimit: 0, license: { fileName: 'licenses.txt' } },
    logLevel: 'warn',
  },
  transformHead: () => [['link', { rel: 'stylesheet', href: BASE + codeFile() }]],
  /** Pages of wide tables have the width of the outline, too. */
  transformPageData: ({ relativePath }) =>
    WIDE_PAGES.has(relativePath) ? { frontmatter: { aside: false, pageClass: 'wide' } } : {},
  // The policy of the pages forbids inline scripts and styles; theme/style.css has what these styles say.
  transformHtml: (html) =>
    html
      .replace(/ style="(?:--vp-vh:0px|position:relative);"/g, '')
      .replace(/<script id="([\w-]+)">([\s\S]*?)<\/script>/g, (_, id: string, script: string) => {
        inlineScripts.set(id, script)
        return `<script src="${BASE}assets/${id}.js"></script>`
      }),
  buildEnd({ outDir }) {
    writeFileSync(join(outDir, codeFile()), codeStyles.getCSS())
    for (const [id, script] of inlineScripts) writeFileSync(join(outDir, 'assets', `${id}.js`), script)
  },
})
