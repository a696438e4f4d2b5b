/**
 * Checks the conventions that no compiler knows: forbidden code, provider names, file names, sizes of files and folders.
 * The length of functions is Biome's (`noExcessiveLinesPerFunction` in biome.json).
 */
import { basename, dirname } from 'node:path'
import {
  brokenRules,
  dashboardFiles,
  finding,
  importsOf,
  isTest,
  productFiles,
  projectFiles,
  type Rule,
  report,
  type SourceFile,
  withoutComments,
} from './source-files.ts'

/** A longer file is a warning: does it hold one idea? */
const MAX_LINES = 400
/** A shorter file that only one other file imports is a warning: it belongs into that file. */
const MIN_LINES = 40
const MAX_FILES_OF_FOLDER = 25
/** Of `src`, without tests and hosts: a provider is a file. */
const MAX_FILES = 560
const EMPTY_NAMES = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'types', 'misc', 'shared'])

/** Names of wire formats, which shared code may say although a provider bears the same name. */
const PROTOCOL_NAMES = new Set(['openai', 'anthropic', 'gemini', 'bedrock', 'simulator'])
/** Fields of wire formats, and issuers of identities, that a provider's name is part of. */
const WIRE_FIELDS = /\b(?:google_search|googleSearch|accounts\.google\.com)\b/g
/** Providers that are also English words: only a string that is nothing else counts. */
const ENGLISH_WORDS = new Set(['together', 'fireworks', 'cohere', 'replicate'])

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
    message: 'clock and randomness are arguments here',
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
    message: 'only cli/ prints; other code logs',
  },
  { path: /^src\//, pattern: /\bexport default\b/g, message: 'no default exports' },
  { path: /^src\//, pattern: /\bas any\b|:\s*any\b/g, message: 'no any' },
  { path: /^src\//, pattern: /\bclass (?!\w+ extends \w*Error\b)\w+/g, message: 'classes are for errors only' },
]

/** Each host is a file of its own, however short. */
const REGISTRY = 'src/providers/index.ts'

const linesOf = ({ text }: SourceFile): number => text.trimEnd().split('\n').length

function longFiles(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => linesOf(file) > MAX_LINES)
    .map((file) => `${file.path}:${MAX_LINES + 1}: ${linesOf(file)} lines (limit ${MAX_LINES}): does it hold one idea?`)
}

/** @param files Also tests: what they import as well stays a file of its own. */
function shortFiles(files: readonly SourceFile[]): string[] {
  const importers = new Map<string, Set<string>>()
  for (const file of files) {
    for (const { target } of importsOf(file)) {
      if (target !== file.path) importers.set(target, (importers.get(target) ?? new Set()).add(file.path))
    }
  }
  return productFiles(files)
    .filter((file) => linesOf(file) < MIN_LINES)
    .flatMap((file) => {
      const [importer, ...others] = [...(importers.get(file.path) ?? [])].filter((path) => !isTest(path))
      if (importer === undefined || importer === REGISTRY || others.length > 0) return []
      return [`${file.path}:1: ${linesOf(file)} lines, imported only by ${importer}: merge them?`]
    })
}

/** Counts the source files directly in each folder. The folder of hosts grows with their number. */
function fullFolders(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>()
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return [...counts]
    .filter(([folder, count]) => count > MAX_FILES_OF_FOLDER && folder !== dirname(REGISTRY))
    .map(([folder, count]) => `${folder}:1: ${count} source files in one folder (limit ${MAX_FILES_OF_FOLDER})`)
}

function fileCount(files: readonly SourceFile[]): string[] {
  const { length } = files.filter(({ path }) => dirname(path) !== dirname(REGISTRY))
  if (length <= MAX_FILES) return []
  return [`src:1: ${length} source files without tests and providers (limit ${MAX_FILES}): merge what belongs together`]
}

function emptyName(file: SourceFile): string[] {
  const name = basename(file.path).replace(/(\.test)?\.ts$/, '')
  return EMPTY_NAMES.has(name) ? [`${file.path}:1: name the file after what it exports, not ${name}`] : []
}

/** Imports translate the names that other gateways have for providers. */
const NAMES_PROVIDERS = ['src/providers/', 'src/cli/import/']

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
    .filter(({ path }) => !NAMES_PROVIDERS.some((folder) => path.startsWith(folder)))
    .flatMap((file) => {
      const text = withoutComments(file.text).replace(WIRE_FIELDS, (field) => '_'.repeat(field.length))
      const code = { path: file.path, text }
      return [...code.text.matchAll(pattern)].map((match) =>
        finding(code, match.index, `a provider's name belongs in src/providers/: ${match[0]}`),
      )
    })
}

const REQUIREMENTS = 'docs/requirements.md'

/** IDs of requirements, of the prefixes in the table, that the table does not explain. */
function unknownRequirements(files: readonly SourceFile[]): string[] {
  const table = files.find(({ path }) => path === REQUIREMENTS)?.text ?? ''
  const known = new Set([...table.matchAll(/^\| ([A-Z]+-\d+) \|/gm)].map(([, id = '']) => id))
  if (known.size === 0) return []
  const prefixes = new Set([...known].map((id) => id.replace(/-.*/, '')))
  const pattern = new RegExp(`\\b(?:${[...prefixes].join('|')})-\\d+\\b`, 'g')
  return files
    .filter(({ path }) => path.endsWith('.ts'))
    .flatMap((file) =>
      [...file.text.matchAll(pattern)]
        .filter(([id]) => !known.has(id))
        .map(({ 0: id, index }) => finding(file, index, `${id} is not in ${REQUIREMENTS}`)),
    )
}

const all = projectFiles()
const product = productFiles(all)
const scripts = all.filter(({ path }) => /^scripts\/.+\.ts$/.test(path) && !isTest(path))
const dashboard = dashboardFiles(all)
report(
  'house',
  [
    ...all.filter(({ path }) => path.endsWith('.ts')).flatMap(emptyName),
    ...product.flatMap((file) => brokenRules(RULES, file, withoutComments(file.text))),
    ...providerNames(product),
    ...fullFolders([...product, ...scripts, ...dashboard]),
    ...fileCount(product),
    ...unknownRequirements(all),
  ],
  [...longFiles([...product, ...scripts, ...dashboard]), ...shortFiles(all)],
)
