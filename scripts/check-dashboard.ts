/**
 * Checks the rules of `dashboard/src` that no compiler knows: only `api/` uses the network, text never becomes markup or
 * code, no requests to another origin, and which folder may import which. Tests are exempt.
 *
 *   lib <- api <- shell <- pages;  {lib, api/problem.ts} <- ui <- {shell, pages};  a page never imports another page;
 *   router.tsx, main.tsx and other files beside them may import everything.
 */
import {
  brokenRules,
  dashboardFiles,
  finding,
  type Import,
  importsOf,
  projectFiles,
  type Rule,
  report,
  type SourceFile,
  withoutComments,
} from './source-files.ts'

const RULES: readonly Rule[] = [
  {
    path: /^dashboard\/src\/(?!api\/)/,
    // The function itself, called or passed on; not `refetch(`, `fetchRaw(` or the word in a sentence.
    pattern:
      /(?<![\w.$])fetch\s*\(|[=(,:?]\s*fetch\b(?=\s*[,;)}\n])|\b(?:globalThis|window|self)\s*(?:\.\s*fetch\b|\[)|\bnew (?:XMLHttpRequest|WebSocket|EventSource|Worker|SharedWorker)\b|\bsendBeacon\b/g,
    message: 'only src/api/ makes requests',
  },
  {
    path: /./,
    pattern:
      /\bdangerouslySetInnerHTML\b|\b(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bsrcDoc\b|\bcreateContextualFragment\b|\bdocument\s*\.\s*write(?:ln)?\b|\bDOMParser\b|\brehype-raw\b/gi,
    message: 'text never becomes markup',
  },
  {
    path: /./,
    pattern: /(?<![\w.])eval\b|\bFunction\s*\(|['"`]javascript:/g,
    message: 'text never becomes code',
  },
  {
    path: /./,
    // A string, a prefix of a string, or a style. Texts that are only displayed may contain a URL.
    pattern:
      /(?:['"`]|\burl\(\s*['"]?|@import\s+['"]?)(?:(?:https?|wss?):\/\/|\/\/(?=[\w[]))(?!(?:[\w-]+\.)*example(?:\.\w+)?[/'"`:])/g,
    message: 'no requests to another origin',
  },
  {
    path: /\.tsx$/,
    // The type of `Button` has no `disabled` already.
    pattern: /<button\b(?:[^>]|=>)*?\sdisabled\b/g,
    message: 'a button that cannot be pressed says why: `unavailable` of Button',
  },
  { path: /\.tsx?$/, pattern: /\bexport default\b|\bas default\b/g, message: 'no default exports' },
  { path: /\.tsx?$/, pattern: /\bas any\b|:\s*any\b|<any\b|\bany\[\]/g, message: 'no any' },
  {
    path: /\.tsx?$/,
    pattern: /@ts-(?:ignore|nocheck|expect-error)/g,
    message: 'the compiler is not silenced',
  },
]

/** For each folder, the folders it may import besides itself. */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  api: ['lib'],
  ui: ['lib'],
  shell: ['ui', 'api', 'lib'],
  pages: ['shell', 'ui', 'api', 'lib'],
}
/** The part of the API that components may import: its errors. */
const ALLOWED_IN_UI = 'dashboard/src/api/problem.ts'
const MAY_IMPORT_EVERYTHING = /^dashboard\/src\/[^/]+\.tsx?$/

const folderOf = (path: string): string | undefined => /^dashboard\/src\/([^/]+)\//.exec(path)?.[1]
const pageOf = (path: string): string | undefined => /^dashboard\/src\/pages\/([^/]+)\//.exec(path)?.[1]

function violation(from: string, { target, isLocal }: Import): string | undefined {
  if (target.startsWith('node:')) return `browsers have no ${target}`
  if (isLocal && !target.startsWith('dashboard/src/')) return `the dashboard imports nothing of the gateway (${target})`
  if (/\.test\.tsx?$/.test(target)) return `the dashboard imports a test, ${target}`
  if (MAY_IMPORT_EVERYTHING.test(from) || from.endsWith('.css')) return undefined
  const folder = folderOf(from)
  if (folder === undefined || !(folder in ALLOWED_IMPORTS))
    return `${from} is in an unknown folder; add it to scripts/check-dashboard.ts`
  if (!isLocal) return folder === 'lib' ? `lib must not import ${target}` : undefined
  return folderViolation({ from, folder, target })
}

function folderViolation(edge: { from: string; folder: string; target: string }): string | undefined {
  const { from, folder, target } = edge
  const targetFolder = folderOf(target)
  if (targetFolder === folder) {
    return pageOf(from) === pageOf(target) ? undefined : `a page never imports another page (${target})`
  }
  if (folder === 'ui' && target === ALLOWED_IN_UI) return undefined
  if (targetFolder !== undefined && ALLOWED_IMPORTS[folder]?.includes(targetFolder)) return undefined
  return `${folder} must not import ${target.replace('dashboard/src/', '')}`
}

/** Samples of code, which import for others. Line numbers stay. */
function withoutTemplates(text: string): string {
  return text.replace(/`(?:[^`\\]|\\[\s\S])*`/g, (template) => template.replace(/[^\n]/g, ' '))
}

function brokenArrows(file: SourceFile): string[] {
  const code = { path: file.path, text: withoutTemplates(withoutComments(file.text)) }
  return importsOf(code).flatMap((imported) => {
    const message = violation(file.path, imported)
    return message === undefined ? [] : [finding(file, imported.offset, message)]
  })
}

const files = dashboardFiles(projectFiles())
report('dashboard', [
  ...files.flatMap((file) => brokenRules(RULES, file, withoutComments(file.text))),
  ...files.flatMap(brokenArrows),
])
