/**
 * The rules of `dashboard/src` that no compiler knows: size of files, one door to the network, nothing that makes markup
 * or code of text, nothing of another origin, and who may import whom. Tests are free.
 *
 *   lib <- api <- shell <- pages;  {lib, api/problem.ts} <- ui <- {shell, pages};  a page never imports another page;
 *   router.tsx, main.tsx and what else is beside them know everyone.
 */
import {
  dashboardFiles,
  finding,
  type Import,
  importsOf,
  projectFiles,
  report,
  type SourceFile,
  withoutComments,
} from './source-files.ts'

const MAX_LINES = 300

interface Rule {
  /** Where it holds. */
  readonly path: RegExp
  readonly pattern: RegExp
  readonly message: string
}

const RULES: readonly Rule[] = [
  {
    path: /^dashboard\/src\/(?!api\/)/,
    // The function itself, called or handed on: `refetch(`, `fetchRaw(` and words of a sentence are none.
    pattern:
      /(?<![\w.$])fetch\s*\(|[=(,:?]\s*fetch\b(?=\s*[,;)}\n])|\b(?:globalThis|window|self)\s*(?:\.\s*fetch\b|\[)|\bnew (?:XMLHttpRequest|WebSocket|EventSource|Worker|SharedWorker)\b|\bsendBeacon\b/g,
    message: 'only src/api/ speaks to the network',
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
    // As a string of its own, as one that others are put to, or in a style. What is only read may name an address.
    pattern:
      /(?:['"`]|\burl\(\s*['"]?|@import\s+['"]?)(?:(?:https?|wss?):\/\/|\/\/(?=[\w[]))(?!(?:[\w-]+\.)*example(?:\.\w+)?[/'"`:])/g,
    message: 'nothing is asked of another origin',
  },
  { path: /\.tsx?$/, pattern: /\bexport default\b|\bas default\b/g, message: 'no default exports' },
  { path: /\.tsx?$/, pattern: /\bas any\b|:\s*any\b|<any\b|\bany\[\]/g, message: 'no any' },
  {
    path: /\.tsx?$/,
    pattern: /@ts-(?:ignore|nocheck|expect-error)/g,
    message: 'the compiler is not silenced',
  },
]

function tooLong(file: SourceFile): string[] {
  const lines = file.text.trimEnd().split('\n').length
  return lines > MAX_LINES ? [`${file.path}:${MAX_LINES + 1}: ${lines} lines; ${MAX_LINES} at most`] : []
}

function brokenRules(file: SourceFile): string[] {
  const code = { path: file.path, text: withoutComments(file.text) }
  return RULES.filter(({ path }) => path.test(file.path)).flatMap(({ pattern, message }) =>
    [...code.text.matchAll(pattern)].map((match) => finding(code, match.index, `${message}: ${match[0].trim()}`)),
  )
}

/** For each room, the rooms it may import beside itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  api: ['lib'],
  ui: ['lib'],
  shell: ['ui', 'api', 'lib'],
  pages: ['shell', 'ui', 'api', 'lib'],
}
/** What of the API every component may know: how it says no. */
const KNOWN_TO_UI = 'dashboard/src/api/problem.ts'
const KNOW_EVERYONE = /^dashboard\/src\/[^/]+\.tsx?$/

const roomOf = (path: string): string | undefined => /^dashboard\/src\/([^/]+)\//.exec(path)?.[1]
const pageOf = (path: string): string | undefined => /^dashboard\/src\/pages\/([^/]+)\//.exec(path)?.[1]

function complaint(from: string, { target, isLocal }: Import): string | undefined {
  if (target.startsWith('node:')) return `browsers have no ${target}`
  if (isLocal && !target.startsWith('dashboard/src/')) return `the dashboard imports nothing of the gateway (${target})`
  if (/\.test\.tsx?$/.test(target)) return `the dashboard imports a test, ${target}`
  if (KNOW_EVERYONE.test(from) || from.endsWith('.css')) return undefined
  const room = roomOf(from)
  if (room === undefined || !(room in ARROWS))
    return `${from} is in no known room; give it one in scripts/check-dashboard.ts`
  if (!isLocal) return room === 'lib' ? `lib must not know ${target}` : undefined
  return roomComplaint({ from, room, target })
}

function roomComplaint({ from, room, target }: { from: string; room: string; target: string }): string | undefined {
  const targetRoom = roomOf(target)
  if (targetRoom === room) {
    return pageOf(from) === pageOf(target) ? undefined : `a page never imports another page (${target})`
  }
  if (room === 'ui' && target === KNOWN_TO_UI) return undefined
  if (targetRoom !== undefined && ARROWS[room]?.includes(targetRoom)) return undefined
  return `${room} must not import ${target.replace('dashboard/src/', '')}`
}

/** Samples of code, which import for others. Line numbers stay. */
function withoutTemplates(text: string): string {
  return text.replace(/`(?:[^`\\]|\\[\s\S])*`/g, (template) => template.replace(/[^\n]/g, ' '))
}

function brokenArrows(file: SourceFile): string[] {
  const code = { path: file.path, text: withoutTemplates(withoutComments(file.text)) }
  return importsOf(code).flatMap((imported) => {
    const message = complaint(file.path, imported)
    return message === undefined ? [] : [finding(file, imported.offset, message)]
  })
}

const files = dashboardFiles(projectFiles())
report('dashboard', [...files.flatMap(tooLong), ...files.flatMap(brokenRules), ...files.flatMap(brokenArrows)])
