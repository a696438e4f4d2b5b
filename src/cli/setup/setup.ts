/** `turnpike setup`: the configuration of a coding client for a gateway, printed, or applied to the client's own file. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseDocument } from 'yaml'
import { type Environment, processEnvironment } from '../../config/environment.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ClientName } from '../option-values.ts'
import { note, plainText, print } from '../output.ts'
import { firstForChat } from '../remote/account.ts'
import { createClient } from '../remote/client.ts'
import { chooseTarget, type TargetOptions } from '../remote/target.ts'

export interface SetupOptions extends TargetOptions {
  readonly model?: string
  readonly smallModel?: string
  readonly keyVariable: string
  readonly write?: boolean
  readonly yes?: boolean
}

/** Prints what would be in the client's file, or changes the file. Rejects without effect where it cannot be read. */
export async function setup(name: ClientName, options: SetupOptions): Promise<void> {
  const client = CLIENTS[name]
  const settings = await settingsOf(options)
  const path = client.path({ env: processEnvironment, home: homedir() })
  const before = await readText(path)
  const page = `${settings.url}/docs/clients/${client.page}`
  const hint = plainText(`${client.hint(settings)} More: ${page}`)
  if (options.write !== true) {
    await print(client.edit('', settings))
    note(`Add this to ${path}, or run this command with --write. ${hint}`)
    return
  }
  const after = edited(path, () => client.edit(before ?? '', settings))
  if (after === before) return note(`${path} has these settings already. ${hint}`)
  await print(plainText(`${path}\n${lineDiff(before ?? '', after)}`))
  if (options.yes !== true && !(await confirm(`Change ${path}? [y/N] `))) return note('Nothing was changed.')
  await replaceFile(path, after)
  note(`Changed ${path}. ${hint}`)
}

async function settingsOf(options: SetupOptions): Promise<ClientSettings> {
  const { url, model, keyVariable } = options
  if (url !== undefined && model !== undefined) {
    return { url, model, smallModel: options.smallModel ?? model, keyVariable }
  }
  const target = await chooseTarget(options)
  const chosen = model ?? firstForChat(await createClient(target).get('/models'))
  if (chosen === undefined) throw new Error(`${target.url} has no model for chat. Name one with --model.`)
  return { url: target.url, model: chosen, smallModel: options.smallModel ?? chosen, keyVariable }
}

function edited(path: string, edit: () => string): string {
  try {
    return edit()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path} was not changed, since it cannot be read: ${plainText(reason)}`)
  }
}

/** @returns undefined when there is no such file. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    return /^y(?:es)?$/i.test((await Promise.race([terminal.question(question), ended])).trim())
  } finally {
    terminal.close()
  }
}

/** Replaces the file at once, with its permissions; a symbolic link stays one. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, text, { mode, flag: 'wx', flush: true })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

const CONTEXT_LINES = 2

/**
 * Compares two texts for people who confirm a change: returns the lines that differ, `-` before and `+` after, with two lines
 * around them. One hunk: everything between the first and the last difference. Linear in the length of the texts.
 */
export function lineDiff(before: string, after: string): string {
  const [old, changed] = [linesOf(before), linesOf(after)]
  const shorter = Math.min(old.length, changed.length)
  let start = 0
  while (start < shorter && old[start] === changed[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === changed.at(-1 - end)) end++
  const lead = old.slice(Math.max(0, start - CONTEXT_LINES), start)
  const trail = end === 0 ? [] : old.slice(-end).slice(0, CONTEXT_LINES)
  const lines = [
    ...lead.map((line) => `  ${line}`),
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...changed.slice(start, changed.length - end).map((line) => `+ ${line}`),
    ...trail.map((line) => `  ${line}`),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

// The clients that `turnpike setup` knows: where their configuration is, and what of it makes them use a gateway.

export interface ClientSettings {
  /** Of the gateway, without trailing slash and without `/v1`. */
  readonly url: string
  readonly model: string
  /** For small tasks, where the client has a setting for it. */
  readonly smallModel: string
  /** The environment variable that has the API key, which is written to no file. */
  readonly keyVariable: string
}

export interface Surroundings {
  readonly env: Environment
  readonly home: string
}

interface Client {
  readonly path: (surroundings: Surroundings) => string
  /** The file's text with the settings, all others kept. @throws Error for a text that cannot be read. */
  readonly edit: (text: string, settings: ClientSettings) => string
  /** Name of its page in `docs/clients/`. */
  readonly page: string
  /** What else is to be done. */
  readonly hint: (settings: ClientSettings) => string
}

const needsKey = ({ keyVariable }: ClientSettings): string => `The client reads the API key from $${keyVariable}.`

export const CLIENTS: Readonly<Record<ClientName, Client>> = {
  claude: {
    page: 'claude-code',
    path: ({ env, home }) => join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'settings.json'),
    edit: (text, { url, model, smallModel, keyVariable }) =>
      withJsonSettings(text, {
        env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: smallModel },
        apiKeyHelper: `printenv ${keyVariable}`,
      }),
    hint: needsKey,
  },
  codex: {
    page: 'codex',
    path: ({ env, home }) => join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
    edit: (text, { url, model, keyVariable }) =>
      withTomlSettings(text, {
        top: { model, model_provider: 'turnpike' },
        table: 'model_providers.turnpike',
        // With `env_key` it lists no models, and warns that it knows no metadata of them.
        values: {
          name: 'Turnpike',
          base_url: `${url}/v1`,
          auth: { command: 'printenv', args: [keyVariable] },
          wire_api: 'responses',
        },
      }),
    hint: needsKey,
  },
  opencode: {
    page: 'opencode',
    path: ({ env, home }) => join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'opencode', 'opencode.json'),
    edit: (text, { url, model, smallModel, keyVariable }) =>
      withJsonSettings(text, {
        $schema: 'https://opencode.ai/config.json',
        provider: {
          turnpike: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Turnpike',
            options: { baseURL: `${url}/v1`, apiKey: `{env:${keyVariable}}` },
            models: { [model]: {}, [smallModel]: {} },
          },
        },
        model: `turnpike/${model}`,
        small_model: `turnpike/${smallModel}`,
      }),
    hint: needsKey,
  },
  aider: {
    page: 'aider',
    path: ({ home }) => join(home, '.aider.conf.yml'),
    edit: (text, { url, model, smallModel }) =>
      withYamlSettings(text, {
        'openai-api-base': `${url}/v1`,
        model: `openai/${model}`,
        'weak-model': `openai/${smallModel}`,
      }),
    hint: ({ keyVariable }) =>
      `The client reads the API key from $OPENAI_API_KEY: export OPENAI_API_KEY="$${keyVariable}".`,
  },
}

/** Objects are merged, everything else is replaced. */
function withJsonSettings(text: string, settings: Json): string {
  const before: unknown = text.trim() === '' ? {} : JSON.parse(text)
  if (!isRecord(before)) throw new Error('it is not a JSON object.')
  return `${JSON.stringify(merged(before, settings), undefined, 2)}\n`
}

function merged(before: Json, settings: Json): Json {
  const result: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(settings)) {
    const known = result[name]
    result[name] = isRecord(known) && isRecord(value) ? merged(known, value) : value
  }
  return result
}

function withYamlSettings(text: string, settings: Readonly<Record<string, string>>): string {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) throw error
  for (const [name, value] of Object.entries(settings)) document.set(name, value)
  return document.toString()
}

/* Changes settings in a TOML text and keeps every other line, comments among them. */

export interface TomlSettings {
  /** Keys above the first table. */
  readonly top: Readonly<Record<string, string>>
  /** The name of a table, which is replaced as a whole. */
  readonly table: string
  readonly values: Readonly<Record<string, string | Readonly<Record<string, string | readonly string[]>>>>
}

const HEADER = /^\s*\[/
const MULTILINE = /"""|'''/

/** @throws Error for texts of several lines, in which a line may look like a setting. */
export function withTomlSettings(text: string, { top, table, values }: TomlSettings): string {
  if (MULTILINE.test(text)) throw new Error('it has texts of several lines.')
  const lines = text.trimEnd() === '' ? [] : text.trimEnd().split('\n')
  const first = lines.findIndex((line) => HEADER.test(line))
  const end = first < 0 ? lines.length : first
  const head = withTop(lines.slice(0, end), top)
  const tables = withoutTable(lines.slice(end), table)
  const own = [`[${table}]`, ...Object.entries(values).map(setting)]
  return [...paragraph(head), ...paragraph(tables), ...own, ''].join('\n')
}

function setting([name, value]: readonly [name: string, value: TomlSettings['values'][string]]): string {
  // A basic string of TOML has the escapes of JSON, an array its form.
  if (typeof value === 'string') return `${name} = ${JSON.stringify(value)}`
  const members = Object.entries(value).map(([member, inner]) => `${member} = ${JSON.stringify(inner)}`)
  return `${name} = { ${members.join(', ')} }`
}

function withTop(lines: readonly string[], settings: Readonly<Record<string, string>>): readonly string[] {
  const left = new Map(Object.entries(settings))
  const changed = lines.map((line) => {
    const name = /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] ?? ''
    const value = left.get(name)
    if (value === undefined) return line
    left.delete(name)
    return setting([name, value])
  })
  return [...[...left].map(setting), ...changed]
}

/** @param lines From the first header on. */
function withoutTable(lines: readonly string[], table: string): readonly string[] {
  let isOwn = false
  return lines.filter((line) => {
    if (HEADER.test(line)) isOwn = line.trim().startsWith(`[${table}]`)
    return !isOwn
  })
}

/** The lines and an empty one after them. */
function paragraph(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return last < 0 ? [] : [...lines.slice(0, last + 1), '']
}
