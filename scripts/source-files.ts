/** Reads the checkout for the checks: which files there are, and what of a TypeScript file is code. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

export interface SourceFile {
  /** From the project's root, with `/`. */
  readonly path: string
  readonly text: string
}

/** Every text file that git tracks or would add, sorted by path. */
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

/** What runs in production: TypeScript below `src/` that is no test. */
export function productFiles(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /^src\/.+\.ts$/.test(path) && !isTest(path))
}

/** What browsers get: what is below `dashboard/src/`, but tests and what is generated. */
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
  /** A path from the project's root, `node:…`, or a package. */
  readonly target: string
  readonly isLocal: boolean
}

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
 * The code of a file without its comments, line numbers kept.
 * A `//` counts as a comment at the start of a line or after white space, so that addresses in strings stay.
 */
export function withoutComments(text: string): string {
  return text
    .replace(/(^|[\s(,{])\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|\s)\/\/[^\n]*/gm, '$1')
}

/** A finding as `path:line: message`. */
export function finding(file: SourceFile, offset: number, message: string): string {
  return `${file.path}:${file.text.slice(0, offset).split('\n').length}: ${message}`
}

/** Prints the findings of a check and sets the exit code. */
export function report(name: string, findings: readonly string[]): void {
  for (const line of findings) console.log(line)
  if (findings.length === 0) return
  console.log(`${name}: ${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`)
  process.exitCode = 1
}
