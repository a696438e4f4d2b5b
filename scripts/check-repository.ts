/**
 * Checks for text that must not be in any file of the repository: paths of one machine, hosts of package registries, unfinished
 * work, tests that are switched off.
 */
import { finding, projectFiles, report, type SourceFile } from './source-files.ts'

interface Rule {
  readonly path: RegExp
  readonly pattern: RegExp
  readonly message: string
}

const CODE = /\.(ts|tsx|js|mjs|css|html|yaml|yml|sh|md)$|^\.ci\//
const RULES: readonly Rule[] = [
  {
    path: /./,
    pattern: /(?<![\w.}/])\/(work|root|home\/[a-z][\w-]*|Users\/[A-Za-z][\w-]*)\/[\w.-]+/g,
    message: 'a path of one machine',
  },
  {
    path: /./,
    pattern: /\bregistry\.[a-z0-9-]+\.[a-z]{2,}\b|\b(verdaccio|artifactory|npmmirror)\b[.:/]/gi,
    message: "a package registry's host",
  },
  { path: CODE, pattern: /\b(TO[D]O|FIX[M]E|X[X]X)\b/g, message: 'unfinished work' },
  { path: /\.ts$/, pattern: /\b(test|it|describe|suite)\.(skip|only|todo)\b/g, message: 'a test that is switched off' },
  // Recordings are not part of the project: the helper that reads them says by name what is not tested without them.
  {
    path: /^(?!test\/support\/providers\/recordings\.ts$).*\.ts$/,
    pattern: /\{\s*(skip|only|todo)\s*:/g,
    message: 'a test that is switched off',
  },
  { path: /\.ts$/, pattern: /@ts-(ignore|nocheck|expect-error)/g, message: 'the compiler is silenced' },
]

function check(file: SourceFile): string[] {
  return RULES.filter(({ path }) => path.test(file.path)).flatMap(({ pattern, message }) =>
    [...file.text.matchAll(pattern)].map((match) => finding(file, match.index, `${message}: ${match[0].trim()}`)),
  )
}

/** Rules cannot be written down without the words they forbid. */
const files = projectFiles().filter(({ path }) => path !== 'scripts/check-repository.ts')
report('repository', files.flatMap(check))
