/** The clients that `turnpike setup` knows: where their configuration is, and what of it makes them use a gateway. */
import { join } from 'node:path'
import { parseDocument } from 'yaml'
import type { Environment } from '../../config/environment.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ClientName } from './names.ts'
import { withTomlSettings } from './toml.ts'

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
  /** What else is to be done. */
  readonly hint: (settings: ClientSettings) => string
}

const needsKey = ({ keyVariable }: ClientSettings): string => `The client reads the API key from $${keyVariable}.`

export const CLIENTS: Readonly<Record<ClientName, Client>> = {
  claude: {
    path: ({ env, home }) => join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'settings.json'),
    edit: (text, { url, model, smallModel, keyVariable }) =>
      withJsonSettings(text, {
        env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: smallModel },
        apiKeyHelper: `printenv ${keyVariable}`,
      }),
    hint: needsKey,
  },
  codex: {
    path: ({ env, home }) => join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
    edit: (text, { url, model, keyVariable }) =>
      withTomlSettings(text, {
        top: { model, model_provider: 'turnpike' },
        table: 'model_providers.turnpike',
        values: { name: 'Turnpike', base_url: `${url}/v1`, env_key: keyVariable, wire_api: 'responses' },
      }),
    hint: needsKey,
  },
  opencode: {
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
