/** Checks for text that no file may contain: paths of one machine, hosts of package registries, unfinished work, skipped tests. */
import { brokenRules, projectFiles, type Rule, report } from './source-files.ts'

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
  // The recordings are optional: their helper skips tests, by name, without them.
  {
    path: /^(?!test\/support\/providers\/recordings\.ts$).*\.ts$/,
    pattern: /\{\s*(skip|only|todo)\s*:/g,
    message: 'a test that is switched off',
  },
  { path: /\.ts$/, pattern: /@ts-(ignore|nocheck|expect-error)/g, message: 'the compiler is silenced' },
]

/** This file contains the words that it forbids. */
const files = projectFiles().filter(({ path }) => path !== 'scripts/check-repository.ts')
report(
  'repository',
  files.flatMap((file) => brokenRules(RULES, file, file.text)),
)
