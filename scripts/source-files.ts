/** Reads the repository for the checks: its files, their imports, and their code without comments. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

export interface SourceFile {
  /** Relative to the project's root, with `/`. */
  readonly path: string
  readonly text: string
}

/** Reads every text file that git tracks or would add, sorted by path. */
export function projectFiles(): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const paths = [...new Set(listed.split('\0'))].filter((path) => path !== '' && existsSync(join(ROOT, path)))
  return paths
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
    .filter(({ text }) => !text.includes('\0'))
}

/** Selects what runs in production: TypeScript below `src/` except tests. */
export function productFiles(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /^src\/.+\.ts$/.test(path) && !isTest(path))
}

/** Selects what browsers load: `dashboard/src/` except tests and generated files. */
export function dashboardFiles(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /^dashboard\/src\/.+(?<!\.d)\.(?:tsx?|css)$/.test(path) && !isTest(path))
}

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path)
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\b(?:import|URL)\(\s*['"]([^'"]+)['"]/g

export interface Import {
  readonly offset: number
  /** A path relative to the project's root, `node:…`, or a package. */
  readonly target: string
  readonly isLocal: boolean
}

/** Lists the imports of a file: static, type-only, re-exports, `import()` and `new URL()`. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = []
  for (const match of file.text.matchAll(IMPORT)) {
    const specifier = match[1] ?? match[2] ?? match[3] ?? ''
    const isLocal = specifier.startsWith('.')
    const target = isLocal ? posix.join(posix.dirname(file.path), specifier) : specifier
    found.push({ offset: match.index + match[0].length, target, isLocal })
  }
  return found
}

/**
 * Removes the comments of a file and keeps its line numbers.
 * A `//` counts as a comment at the start of a line or after white space, so that addresses in strings stay.
 */
export function withoutComments(text: string): string {
  return text
    .replace(/(^|[\s(,{])\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|\s)\/\/[^\n]*/gm, '$1')
}

/** Formats a finding as `path:line: message`. */
export function finding(file: SourceFile, offset: number, message: string): string {
  return `${file.path}:${file.text.slice(0, offset).split('\n').length}: ${message}`
}

/** A pattern that files must not contain. */
export interface Rule {
  /** Files that the rule applies to. */
  readonly path: RegExp
  readonly pattern: RegExp
  readonly message: string
}

/** @param text The part of the file that is checked, with its line numbers. */
export function brokenRules(rules: readonly Rule[], { path }: SourceFile, text: string): string[] {
  return rules
    .filter((rule) => rule.path.test(path))
    .flatMap(({ pattern, message }) =>
      [...text.matchAll(pattern)].map((match) =>
        finding({ path, text }, match.index, `${message}: ${match[0].trim()}`),
      ),
    )
}

/** Begins each line of a check that does not fail it; `npm run check` shows a few of them. */
export const WARNING = 'warning: '

/** Prints what a check found, and sets the exit code if there are findings. Warnings do not fail a check. */
export function report(name: string, findings: readonly string[], warnings: readonly string[] = []): void {
  for (const line of warnings) console.log(`${WARNING}${line}`)
  for (const line of findings) console.log(line)
  if (findings.length === 0) return
  console.log(`${name}: ${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`)
  process.exitCode = 1
}
