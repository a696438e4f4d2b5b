/**
 * The rules of the house that no compiler knows: size of files, words that have one place, files that say nothing by
 * their name. The length of functions is Biome's (`noExcessiveLinesPerFunction` in biome.json).
 */
import { basename } from 'node:path'
import { finding, productFiles, projectFiles, report, type SourceFile, withoutComments } from './source-files.ts'

const MAX_LINES = 300
const EMPTY_NAMES = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'types', 'misc', 'shared'])

/** Names of wire formats, which shared code may say although a provider bears the same name. */
const PROTOCOL_NAMES = new Set(['openai', 'anthropic', 'gemini', 'bedrock', 'simulator'])
/** Providers that are also English words: only a string that is nothing else counts. */
const ENGLISH_WORDS = new Set(['together', 'fireworks', 'cohere', 'replicate'])

interface Rule {
  /** Where it holds. */
  readonly path: RegExp
  readonly pattern: RegExp
  readonly message: string
}

const RULES: readonly Rule[] = [
  {
    path: /^src\/(?!config\/)/,
    pattern:
      /\bprocess\s*\.\s*env\b|\bprocess\[['"]env['"]\]|import\s*\{[^}]*\benv\b[^}]*\}\s*from\s*['"]node:process['"]/g,
    message: 'only src/config/ reads the environment',
  },
  {
    path: /^src\/(domain|lib|protocols)\//,
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.now\b|\bset(Timeout|Interval|Immediate)\(/g,
    message: 'time and chance come in as arguments here',
  },
  {
    path: /^src\/(domain|lib|protocols)\//,
    pattern:
      /\bprocess\.|\bconsole\.|\bfetch\(|\bimport\s*\{[^}]*\b(random\w+|getRandomValues|webcrypto)\b[^}]*\}\s*from/g,
    message: 'domain, lib and protocols have no effects',
  },
  {
    path: /^src\/(?!cli\/)/,
    pattern: /\bconsole\.(log|error|warn|info|debug)\b/g,
    message: 'only cli/ prints; others log',
  },
  { path: /^src\//, pattern: /\bexport default\b/g, message: 'no default exports' },
  { path: /^src\//, pattern: /\bas any\b|:\s*any\b/g, message: 'no any' },
  { path: /^src\//, pattern: /\bclass (?!\w+ extends \w*Error\b)\w+/g, message: 'classes are for errors only' },
]

function tooLong(file: SourceFile): string[] {
  const lines = file.text.trimEnd().split('\n').length
  return lines > MAX_LINES ? [`${file.path}:${MAX_LINES + 1}: ${lines} lines; ${MAX_LINES} at most`] : []
}

function emptyName(file: SourceFile): string[] {
  const name = basename(file.path).replace(/(\.test)?\.ts$/, '')
  return EMPTY_NAMES.has(name) ? [`${file.path}:1: a file is named after what it gives, not ${name}`] : []
}

function brokenRules(file: SourceFile): string[] {
  const code = withoutComments(file.text)
  return RULES.filter(({ path }) => path.test(file.path)).flatMap(({ pattern, message }) =>
    [...code.matchAll(pattern)].map((match) =>
      finding({ ...file, text: code }, match.index, `${message}: ${match[0]}`),
    ),
  )
}

/** The names of providers are their files' names. */
function providerIds(files: readonly SourceFile[]): string[] {
  const names = files.flatMap(({ path }) => /^src\/providers\/([a-z0-9-]+)\.ts$/.exec(path)?.[1] ?? [])
  return names.filter((name) => name !== 'provider' && name !== 'index' && !PROTOCOL_NAMES.has(name))
}

/** The id as a word of its own, inside a camel-case name, or in capitals: `groq`, `groqDialect`, `isGroq`, `GROQ_KEY`. */
function providerPattern(id: string): string {
  if (ENGLISH_WORDS.has(id)) return `(?<=['"\`])${id}(?=['"\`])`
  const capitalised = id.charAt(0).toUpperCase() + id.slice(1)
  return `(?<![A-Za-z])${id}(?![a-z])|${capitalised}(?![a-z])|(?<![A-Z])${id.toUpperCase()}(?![A-Z])`
}

function providerNames(files: readonly SourceFile[]): string[] {
  const ids = providerIds(files)
  if (ids.length === 0) return []
  const pattern = new RegExp(ids.map(providerPattern).join('|'), 'g')
  return files
    .filter(({ path }) => !path.startsWith('src/providers/'))
    .flatMap((file) => {
      const code = { path: file.path, text: withoutComments(file.text) }
      return [...code.text.matchAll(pattern)].map((match) =>
        finding(code, match.index, `a provider's name belongs in src/providers/: ${match[0]}`),
      )
    })
}

const all = projectFiles()
const product = productFiles(all)
report('house', [
  ...product.flatMap(tooLong),
  ...all.filter(({ path }) => path.endsWith('.ts')).flatMap(emptyName),
  ...product.flatMap(brokenRules),
  ...providerNames(product),
])
