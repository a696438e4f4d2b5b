/** Defines the commands and their flags; names and flags are a contract with scripts. */
import { Argument, Command, Option } from 'commander'
import { BUDGET_LEVELS } from '../domain/budget.ts'
import { ENTERED_KINDS, type EnteredKind } from '../domain/credit.ts'
import type { CatalogueSignOptions } from './catalogue.ts'
import type { CreditsEntryOptions } from './credits.ts'
import { SHELLS, type Shell } from './help/completion.ts'
import { addExamples } from './help/examples.ts'
import { addImport } from './import/commands.ts'
import { invocation } from './invocation.ts'
import { lazily } from './lazy-action.ts'
import {
  dataCollection,
  parseAmount,
  parseBudgets,
  parseDurationText,
  parseKey,
  parseList,
  parseName,
  parseNote,
  parseOverrun,
  parsePastTime,
  parsePort,
  parseProcesses,
  parseReason,
  parseUsd,
  parseWholeNumber,
  REGIONS,
  ZDR,
} from './option-values.ts'
import { addRemoteCommands } from './remote/commands.ts'
import type { ServeOptions } from './serve.ts'
import { addTeams } from './teams/commands.ts'

/** @param reportError Receives every message about wrong usage, which itself is thrown as `CommanderError`. */
export function buildProgram(version: string, reportError: (message: string) => void): Command {
  const program = new Command(invocation())
    .description('An open-source LLM gateway: one OpenAI-compatible endpoint for every provider.')
    .version(version)
    .addHelpText('afterAll', '\nA running gateway serves the documentation at /docs/.')
    .exitOverride()
    .configureOutput({ outputError: (text) => reportError(text.replace(/^error: /, '')) })
  addServer(program, version)
  addKeys(program)
  addTeams(program)
  addAccounts(program)
  addCredits(program)
  addBudgets(program)
  addLedger(program)
  addRemoteCommands(program, version)
  addMaintenance(program)
  addCatalogue(program, version)
  addImport(program)
  addChecks(program)
  addCompletion(program)
  addExamples(program)
  return program
}

function addServer(program: Command, version: string): void {
  program
    .command('serve')
    .description('run the gateway')
    .option('--config <file>', 'configuration file (default: ./turnpike.yaml if it exists)')
    .option('--host <host>', 'address to listen on')
    .option('--port <port>', 'port to listen on', parsePort)
    .option('--processes <count>', 'processes that share the port; auto: one for each core', parseProcesses)
    .addOption(new Option('--role <role>', 'role of this process').choices(['all', 'api', 'worker']).default('all'))
    .option('--migrate', 'apply pending migrations to a PostgreSQL database first', false)
    .action(async (options: ServeOptions) => (await import('./serve.ts')).serve(options, version))
  program
    .command('reload')
    .description('make the running gateway reload its configuration')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./control-socket.ts'), 'reload'))
  program
    .command('migrate')
    .description('apply pending migrations to the database')
    .option('--dry-run', 'print the SQL and its locks without running it', false)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./migrate.ts'), 'migrate'))
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys')
  keys
    .command('create')
    .description('create a key and print it, which is shown only once')
    .requiredOption('--name <name>', 'name of the key', parseName)
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--team <id>', 'ID or name of the team that the key belongs to (default: none)')
    .option('--scopes <list>', 'comma-separated scopes (default: all except operator)', parseList)
    .option('--ip-allowlist <list>', 'comma-separated addresses or CIDR blocks that may use the key', parseList)
    .option('--expires-in <duration>', 'lifetime, such as 30d (units s, m, h, d)', parseDurationText)
    .option('--monthly-budget-usd <usd>', 'monthly budget', parseUsd)
    .option('--requests-per-minute <count>', 'rate limit', parseWholeNumber)
    .option('--models <list>', 'comma-separated models that the key may use (default: all)', parseList)
    .addOption(dataCollection())
    .option('--zdr', ZDR)
    .option('--regions <list>', REGIONS, parseList)
    .option('--operator', 'also grant the operator scope')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./keys.ts'), 'keysCreate'))
  keys
    .command('list')
    .description('list the keys of an account')
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./keys.ts'), 'keysList'))
  addKeyChanges(keys)
}

function addKeyChanges(keys: Command): void {
  keys
    .command('rotate')
    .description('replace the secret of a key and print it, which is shown only once')
    .argument('<key>', 'ID or name of the key')
    .option('--overlap <duration>', 'how long the present secret stays valid, 0s to 90d (default: 1d)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./keys.ts'), 'keysRotate'))
  keys
    .command('disable')
    .description('refuse a key, and the keys that it created, until it is enabled')
    .argument('<key>', 'ID or name of the key')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./keys.ts'), 'keysDisable'))
  keys
    .command('enable')
    .description('accept a disabled key again')
    .argument('<key>', 'ID or name of the key')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./keys.ts'), 'keysEnable'))
  keys
    .command('revoke')
    .description('revoke a key, and the keys and webhooks that it created')
    .option('--no-cascade', 'keep the keys and webhooks that it created')
    .argument('<key>', 'ID or name of the key')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./keys.ts'), 'keysRevoke'))
}

function addAccounts(program: Command): void {
  const accounts = program.command('accounts').description('manage accounts')
  accounts
    .command('create')
    .description('create an account and print its ID')
    .requiredOption('--name <name>', 'name of the account', parseName)
    .option('--plan <plan>', 'plan (default: the default plan of the configuration)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./accounts.ts'), 'accountsCreate'))
  accounts
    .command('list')
    .description('list the accounts')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./accounts.ts'), 'accountsList'))
  accounts
    .command('set-plan')
    .description('change the plan of an account')
    .argument('<account>', 'ID or name of the account')
    .argument('<plan>', 'name of the plan')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./accounts.ts'), 'accountsSetPlan'))
  accounts
    .command('set-overrun')
    .description('set the overrun cap of an account: how far its balance may fall below zero')
    .argument('<account>', 'ID or name of the account')
    .argument('<usd>', 'dollars, or `default` for the overrun cap of its plan', parseOverrun)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./accounts.ts'), 'accountsSetOverrun'))
  accounts
    .command('set-policy')
    .description('replace the data policy of an account; without options: remove it')
    .argument('<account>', 'ID or name of the account')
    .addOption(dataCollection())
    .option('--zdr', ZDR)
    .option('--regions <list>', REGIONS, parseList)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./accounts.ts'), 'accountsSetPolicy'))
}

function addCredits(program: Command): void {
  const credits = program.command('credits').description('manage credit of accounts')
  addCreditEntries(credits)
  credits
    .command('show')
    .description('show the balance of an account')
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./credits.ts'), 'creditsShow'))
  credits
    .command('rerate')
    .description('reprice past charges of a model at its current price, with adjusting ledger entries')
    .requiredOption('--model <id>', 'ID of the model', parseName)
    .option(
      '--from <time>',
      'start of the period, required, such as 7d for the last seven days, or ISO 8601',
      parsePastTime,
    )
    .option('--to <time>', 'end of the period, exclusive (default: now)', parsePastTime)
    .addOption(new Option('--since <time>', 'same as --from').argParser(parsePastTime).hideHelp())
    .addOption(new Option('--until <time>', 'same as --to').argParser(parsePastTime).hideHelp())
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--all-accounts', 'all accounts')
    .option('--dry-run', 'print the changes without applying them')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./credits.ts'), 'creditsRerate'))
}

function addBudgets(program: Command): void {
  const budgets = program.command('budgets').description('manage budgets of accounts, teams, members, keys and tags')
  budgets
    .command('list')
    .description('list the budgets of an account and everything in it')
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./budgets.ts'), 'budgetsList'))
  budgets
    .command('set')
    .description('replace the budgets of an account, team, member, key or tag; without --budget: remove them')
    .addOption(new Option('--level <level>', 'what the budgets limit').choices(BUDGET_LEVELS).default('account'))
    .option('--subject <id>', 'ID or name of the team, user or key; of a tag key=value', parseName)
    .option('--budget <usd/window>', 'budget, such as 500/month; may be repeated', parseBudgets)
    .option('--timezone <name>', 'time zone of the windows (default: UTC)', parseName)
    .option('--starts <date>', 'start of the first window (default: windows of the calendar)', parseName)
    .option('--warn', 'only send alerts, do not reject requests')
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./budgets.ts'), 'budgetsSet'))
  budgets
    .command('raise')
    .description('raise a budget for a time')
    .argument('<id>', 'ID of the budget')
    .requiredOption('--usd <amount>', 'dollars to add to its limit', parseAmount)
    .requiredOption('--for <time>', 'how long, such as 3d', parseDurationText)
    .requiredOption('--reason <text>', 'reason, for the audit log', parseReason)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./budgets.ts'), 'budgetsRaise'))
}

const CREDIT_ENTRIES: Readonly<Record<EnteredKind, string>> = {
  grant: 'grant credit to an account without payment',
  purchase: 'record credit that was paid for',
  refund: 'return credit to the customer',
  debit: 'deduct credit for a chargeback or a correction; the balance may become negative',
}

function addCreditEntries(credits: Command): void {
  for (const kind of ENTERED_KINDS) {
    const note = new Option('--note <text>', 'reason, visible to the customer')
    credits
      .command(kind)
      .description(CREDIT_ENTRIES[kind])
      .requiredOption('--usd <usd>', 'amount in dollars, at most 9 decimals', parseAmount)
      .option('--account <id>', 'ID or name of the account (default: the first account)')
      .addOption(kind === 'debit' ? note.argParser(parseReason).makeOptionMandatory() : note.argParser(parseNote))
      .option('--idempotency-key <key>', 'creates one entry, however often the command runs with this key', parseKey)
      .option('--json', 'print the ledger entry as JSON')
      .action(async (options: CreditsEntryOptions) => (await import('./credits.ts')).creditsEnter(kind, options))
  }
}

function addLedger(program: Command): void {
  const ledger = program.command('ledger').description('audit the ledger and inspect damaged spools')
  ledger
    .command('audit')
    .description('recompute every charge and balance from tokens and prices; exit code 1 if there are findings')
    .option('--account <id>', 'ID or name of the account (default: all accounts)')
    .option('--from <time>', 'only entries since then, such as 7d for the last seven days, or ISO 8601', parsePastTime)
    .addOption(new Option('--since <time>', 'same as --from').argParser(parsePastTime).hideHelp())
    .option('--restart', 'start a new audit instead of resuming an interrupted one')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./ledger.ts'), 'ledgerAudit'))
  ledger
    .command('recovery')
    .description('list the damaged spools of this data directory and the state of the requests they leave undecided')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./ledger.ts'), 'ledgerRecovery'))
}

function addMaintenance(program: Command): void {
  program
    .command('login-link')
    .description('print a one-time dashboard sign-in link for the owner of the first account')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./accounts.ts'), 'loginLink'))
  program
    .command('backup')
    .description('back up the SQLite database; the gateway may be running')
    .argument('<file>', 'the backup file to create; it must not exist')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./backup.ts'), 'backup'))
  program
    .command('restore')
    .description('restore a backup over the SQLite database; the gateway must be stopped')
    .argument('<file>', 'the backup file')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./backup.ts'), 'restore'))
  program
    .command('migrate-to-postgres')
    .description('move all data from SQLite to an empty PostgreSQL database; the gateway must be stopped')
    .argument('<url>', 'postgres://…')
    .option('--batch <rows>', 'rows per transaction', parseWholeNumber)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./migrate.ts'), 'moveToPostgres'))
}

function addCatalogue(program: Command, version: string): void {
  const catalogue = program.command('catalogue').description('pull published models and prices, or publish them')
  catalogue
    .command('pull')
    .description('show what a published catalogue changes, and apply it in all processes')
    .option('--from <source>', 'address or file (default: `catalogue.url` of the configuration)')
    .option('--public-key <key>', "its publisher's, 32 bytes in base64 (default: `catalogue.public_key`)")
    .option('--dry-run', 'only show what changes')
    .option('--accept', 'also apply prices that rise to more than twice as much, and an older catalogue')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./catalogue.ts'), 'cataloguePull'))
  catalogue
    .command('reset')
    .description('remove the published catalogue; that of the release applies again')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./catalogue.ts'), 'catalogueReset'))
  catalogue
    .command('keygen')
    .description("create a publisher's private key, and print the public key")
    .requiredOption('--out <file>', 'the file to create; it must not exist')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./catalogue.ts'), 'catalogueKeygen'))
  catalogue
    .command('sign')
    .description('sign a catalogue as its publisher')
    .requiredOption('--key <file>', "publisher's private key")
    .requiredOption('--out <file>', 'the file to write')
    .option('--models <file>', 'JSON list of entries (default: the catalogue of this release)')
    .option('--json', 'print JSON')
    .action(async (options: CatalogueSignOptions) => (await import('./catalogue.ts')).catalogueSign(options, version))
}

function addChecks(program: Command): void {
  const config = program
    .command('config')
    .description('check, explain and compare configurations, print the JSON Schema, export what the database stores')
  config
    .command('check')
    .description('validate a configuration file in the current environment')
    .argument('[file]', 'the configuration file (default: ./turnpike.yaml if it exists)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./configuration.ts'), 'configCheck'))
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .action(lazily(() => import('./configuration.ts'), 'configSchema'))
  config
    .command('explain')
    .description('print the settings in force and where each comes from, without secrets')
    .argument('[path]', 'a setting or a section, such as server.port')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./config-commands.ts'), 'configExplain'))
  config
    .command('diff')
    .description('print what another configuration file would change')
    .argument('<file>', 'the other configuration file')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./config-commands.ts'), 'configDiff'))
  config
    .command('export')
    .description('print the models and providers that are stored in the database as YAML, without keys')
    .action(lazily(() => import('./config-commands.ts'), 'configExport'))
  program
    .command('doctor')
    .description('check everything that the gateway needs, and suggest fixes')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./doctor.ts'), 'doctor'))
}

function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell) => (await import('./help/completion.ts')).printCompletion(shell))
  program
    .command('complete', { hidden: true })
    .argument('[words...]', 'what is typed after turnpike')
    .action(async (words: readonly string[]) => (await import('./help/completion.ts')).printCandidates(program, words))
}
