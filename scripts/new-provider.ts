/**
 * `npm run new:provider -- NAME [--base-url URL] …`: writes an OpenAI-compatible host's file and test, registers it, and
 * prints the next steps. Writes nothing when anything is wrong.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PROTOCOLS, PROVIDERS } from '../src/providers/index.ts'
import { writeGolden } from './golden-requests.ts'
import {
  identifierOf,
  idProblem,
  type NewProvider,
  providerFile,
  providerTest,
  registered,
  variableOf,
} from './kit/provider-files.ts'
import { productFiles, projectFiles, ROOT, withoutComments } from './source-files.ts'

const USAGE = `Usage: npm run -s new:provider -- NAME [options]
  --base-url URL    its address without /chat/completions
  --variable VAR    environment variable of its key (default: NAME_API_KEY)
  --no-variable     it uses no keys
  --name TEXT       its name in the documentation (default: NAME)
  --source URL      the page of the host's documentation, read today (default: the format's own page)
       npm run -s new:provider -- --golden NAME   writes the golden requests of a host again`

const FORMAT_SOURCE = 'https://platform.openai.com/docs/api-reference/chat'
const REGISTRY = 'src/providers/index.ts'

/** Invalid arguments. */
class WrongUsage extends Error {}

/** Throws when the host cannot be written. */
export function readArguments(args: readonly string[]): NewProvider {
  const { values, positionals, isKeyless } = parseArguments(args)
  const [id, ...others] = positionals
  if (id === undefined || values.help === true) throw new WrongUsage(USAGE)
  if (others.length > 0) throw new WrongUsage(`One name at a time. Options need -- before them.\n\n${USAGE}`)
  const problem = idProblem(id) ?? takenProblem(id)
  if (problem !== undefined) throw new WrongUsage(problem)
  const { 'base-url': baseUrl, variable = variableOf(id), name = id, source } = values
  const apiKeyVariable = isKeyless ? undefined : variable
  if (apiKeyVariable !== undefined) checkVariable(apiKeyVariable)
  const read = new Date().toISOString().slice(0, 10)
  return {
    id,
    name: name.trim() || id,
    baseUrl: baseUrl === undefined ? undefined : address(baseUrl, '--base-url').replace(/\/+$/, ''),
    apiKeyVariable,
    source: { url: source === undefined ? FORMAT_SOURCE : address(source, '--source'), read },
  }
}

function parseArguments(args: readonly string[]) {
  const text = { type: 'string' } as const
  const options = { 'base-url': text, variable: text, name: text, source: text, help: { type: 'boolean' } } as const
  const isKeyless = args.includes('--no-variable')
  try {
    const parsed = parseArgs({ args: args.filter((word) => word !== '--no-variable'), options, allowPositionals: true })
    return { ...parsed, isKeyless }
  } catch (error) {
    throw new WrongUsage(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

/** The name must be free, and must not occur in the code outside `src/providers/`, where no host's name may be. */
function takenProblem(id: string): string | undefined {
  if (id in PROVIDERS || id in PROTOCOLS) return `A provider or protocol '${id}' exists already.`
  const file = join(ROOT, 'src/providers', id)
  if (existsSync(`${file}.ts`) || existsSync(`${file}.test.ts`)) return `src/providers/${id}.ts exists already.`
  const outside = productFiles(projectFiles()).filter(({ path }) => !path.startsWith('src/providers/'))
  const word = new RegExp(`(?<![a-z])${id}(?![a-z])`, 'i')
  const other = outside.find(({ text }) => word.test(withoutComments(text)))
  return (
    other && `'${id}' is a word of ${other.path}; a provider's name may occur in src/providers/ alone. Take another.`
  )
}

function checkVariable(name: string): void {
  if (!/^[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)$/.test(name)) {
    throw new WrongUsage(`'${name}' is not a valid variable of a key: use capitals, and _KEY or _TOKEN at the end.`)
  }
  const owner = Object.values(PROVIDERS).find(({ apiKeyVariable }) => apiKeyVariable === name)
  if (owner !== undefined) throw new WrongUsage(`${name} already enables ${owner.id}.`)
}

/** As the registry's contract has them: https, or plain http on this machine. */
function address(text: string, option: string): string {
  const isFine = URL.canParse(text) && /^https:\/\/[^/]+|^http:\/\/127\.0\.0\.1:/.test(text)
  if (!isFine) throw new WrongUsage(`${option} must be https, or http://127.0.0.1 with a port: ${text}`)
  return text
}

function write(provider: NewProvider): readonly string[] {
  const registry = readFileSync(join(ROOT, REGISTRY), 'utf8')
  const identifier = identifierOf(provider.id, registry)
  const files = {
    [`src/providers/${provider.id}.ts`]: providerFile(provider, identifier),
    [`src/providers/${provider.id}.test.ts`]: providerTest(provider, identifier),
    [REGISTRY]: registered(registry, identifier, provider.id),
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(ROOT, path), text)
  return Object.keys(files)
}

/** Of a registered host, as its module is now. */
async function golden(id: string): Promise<void> {
  const { PROVIDERS: registered } = (await import(`../src/providers/index.ts?${Date.now()}`)) as {
    readonly PROVIDERS: typeof PROVIDERS
  }
  const provider = registered[id]
  if (provider === undefined) throw new WrongUsage(`There is no provider '${id}'.`)
  writeGolden(id, provider.protocol)
}

/** Formats the files and updates the documentation generated from the registry. */
function finish(paths: readonly string[]): void {
  const steps = [
    [join(ROOT, 'node_modules', '.bin', 'biome'), 'check', '--write', ...paths],
    [process.execPath, join(ROOT, 'scripts', 'generate-docs.ts')],
  ]
  for (const [command = '', ...rest] of steps) {
    const { status, stdout, stderr } = spawnSync(command, rest, { cwd: ROOT, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${rest.join(' ')} failed:\n${stdout}${stderr}`)
  }
}

function printNextSteps({ id, apiKeyVariable, baseUrl, source }: NewProvider): void {
  const key = apiKeyVariable === undefined ? '' : `${apiKeyVariable}=… `
  const todo = [
    baseUrl === undefined
      ? `Set its address: baseUrl in src/providers/${id}.ts, or base_url in the configuration.`
      : '',
    source.url === FORMAT_SOURCE ? `Name the page that documents it: source in src/providers/${id}.ts.` : '',
    `Declare how it differs: options of openaiChat() in src/providers/${id}.ts, and their effect in its test.`,
    `Record it: ${key}npm run -s record -- ${id} --model THEIR-MODEL`,
    'Price its models in catalogue/, then: npm run -s catalogue:check',
    'npm run check && npm test',
  ].filter((line) => line !== '')
  console.log(`src/providers/${id}.ts and its test are written, registered and in docs/providers.md. Next:`)
  todo.forEach((line, at) => void console.log(`  ${at + 1}. ${line}`))
  console.log('docs/providers.md explains each step.')
}

async function main(args: readonly string[]): Promise<void> {
  const [option, host] = args
  if (option === '--golden' && host !== undefined) return golden(host)
  const provider = readArguments(args)
  finish(write(provider))
  await golden(provider.id)
  printNextSteps(provider)
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = error instanceof WrongUsage ? 2 : 1
  })
}
