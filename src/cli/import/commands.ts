/** Defines `turnpike import`. Names and flags are a contract with scripts. */
import type { Command } from 'commander'
import { lazily } from '../lazy-action.ts'

export const IMPORT_EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'import litellm': ['config.yaml --output turnpike.yaml', 'config.yaml --apply'],
  'import openrouter': ['models.txt'],
  'import portkey': ['config.json'],
  'import one-api': ['one-api.db --apply'],
}

export function addImport(program: Command): void {
  const command = program
    .command('import')
    .description('take over the configuration of another gateway, and report what has no equal')
  const source = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .argument('<file>', 'the file to read')
      .option('--output <file>', 'write the configuration to a new file (default: standard output)')
      .option('--apply', 'write keys, teams and opening entries into the database; safe to repeat')
      .option('--account <id>', 'ID or name of the account that receives them (default: the first account)')
      .option('--json', 'print the report as JSON')
  source('litellm', "import LiteLLM's config.yaml, and its keys, teams and spending")
    .option('--database-url <url>', "address of LiteLLM's PostgreSQL database, which is only read")
    .action(lazily(() => import('./command.ts'), 'importFromLitellm'))
  source('openrouter', 'import model names and routing preferences of OpenRouter, as JSON or one name a line').action(
    lazily(() => import('./command.ts'), 'importFromOpenrouter'),
  )
  source('portkey', 'import a config of Portkey, as JSON').action(
    lazily(() => import('./command.ts'), 'importFromPortkey'),
  )
  source('one-api', 'import channels, tokens and quotas of One API, from its SQLite file or JSON').action(
    lazily(() => import('./command.ts'), 'importFromOneApi'),
  )
}
