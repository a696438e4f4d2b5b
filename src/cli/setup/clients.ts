/** The clients that `turnpike setup` knows: where their configuration is, and what of it makes them use a gateway. */
import { join } from 'node:path'
import { parseDocument } from 'yaml'
import type { Environment } from '../../config/environment.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ClientName } from './names.ts'

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
