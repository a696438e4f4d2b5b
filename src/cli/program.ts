/** Every command and flag there is. Names and flags are a contract with scripts. */
import { Command, Option } from 'commander'
import type { AccountId } from '../domain/ids.ts'
import type { NanoUsd } from '../domain/money.ts'
import { ENTERED_KINDS, type EnteredKind } from '../features/credit/entry-limits.ts'
import { addAccounts } from './account-commands.ts'
import {
  parseAmount,
  parseDurationText,
  parseKey,
  parseList,
  parseName,
  parseNote,
  parsePort,
  parseReason,
  parseTime,
  parseUsd,
  parseWholeNumber,
} from './option-values.ts'
import { addRemoteCommands } from './remote/commands.ts'

/** Takes the text of what was wrong with the usage. */
export type ReportError = (message: string) => void

export interface ServeOptions {
  readonly config?: string
  readonly host?: string
  readonly port?: number
  readonly role: 'all' | 'api' | 'worker'
  readonly migrate: boolean
}

export interface JsonOption {
  readonly json?: boolean
}

export interface KeysCreateOptions extends JsonOption {
  readonly name: string
  readonly account?: string
  readonly scopes?: string[]
  readonly ipAllowlist?: string[]
  /** A number and a unit: `30d`. */
  readonly expiresIn?: string
  readonly monthlyBudgetUsd?: number
  readonly requestsPerMinute?: number
  readonly models?: string[]
  readonly operator?: boolean
}

export interface AccountOption extends JsonOption {
  readonly account?: string
}

export interface CreditsEntryOptions extends AccountOption {
  /** Above zero. */
  readonly usd: NanoUsd
  readonly note?: string
  readonly idempotencyKey?: string
}

export interface CreditsRerateOptions extends AccountOption {
  readonly model: string
  /** Unix milliseconds. */
  readonly since: number
  readonly until?: number
  readonly allAccounts?: boolean
  readonly dryRun?: boolean
}

export interface LedgerAuditOptions extends JsonOption {
  readonly account?: AccountId
  /** Unix milliseconds. */
  readonly since?: number
  readonly restart?: boolean
}

export interface MoveOptions {
  readonly batch?: number
}

/** @param reportError Gets every message of wrong usage; wrong usage itself is thrown as `CommanderError`. */
export function buildProgram(version: string, reportError: ReportError): Command {
  const program = new Command('turnpike')
    .description('An open-source chat gateway: one OpenAI-compatible endpoint for every provider.')
    .version(version)
    .exitOverride()
    .configureOutput({ outputError: (text) => reportError(text.replace(/^error: /, '')) })
  addServe(program, version)
  addReload(program)
  addMigrate(program)
  addKeys(program)
  addAccounts(program)
  addCredits(program)
  addLedger(program)
  addRemoteCommands(program, version)
  addLoginLink(program)
  addCopies(program)
  addConfig(program)
  addDoctor(program)
  return program
}

function addServe(program: Command, version: string): void {
  program
    .command('serve')
    .description('run the service')
    .option('--config <file>', 'configuration file (default: ./turnpike.yaml if there)')
    .option('--host <host>', 'address to listen on')
    .option('--port <port>', 'port to listen on', parsePort)
    .addOption(new Option('--role <role>', 'part of the work to do').choices(['all', 'api', 'worker']).default('all'))
    .option('--migrate', 'bring a Postgres database to the current schema first', false)
    .action(async (options: ServeOptions) => (await import('./serve.ts')).serve(options, version))
}

function addReload(program: Command): void {
  program
    .command('reload')
    .description('have the running service read its configuration again')
    .action(async () => (await import('./reload.ts')).reload())
}

function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to the current schema')
    .option('--dry-run', 'only say what would be done', false)
    .action(async (options: { readonly dryRun: boolean }) => (await import('./migrate.ts')).migrate(options))
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys')
  keys
    .command('create')
    .description('make a key and print it, once')
    .requiredOption('--name <name>', 'what the key is called', parseName)
    .option('--account <id>', 'account (default: the first)')
    .option('--scopes <list>', 'rights, with commas between them (default: all but operator)', parseList)
    .option('--ip-allowlist <list>', 'addresses it may come from, CIDR with commas between them', parseList)
    .option('--expires-in <duration>', 'how long it is valid, such as 30d (s, m, h, d)', parseDurationText)
    .option('--monthly-budget-usd <usd>', 'most it may spend a month', parseUsd)
    .option('--requests-per-minute <count>', 'most requests a minute', parseWholeNumber)
    .option('--models <list>', 'models it may use, with commas between them (default: all)', parseList)
    .option('--operator', 'also give it the rights of the operator')
    .option('--json', 'print JSON')
    .action(async (options: KeysCreateOptions) => (await import('./keys.ts')).keysCreate(options))
  keys
    .command('list')
    .description('list the keys of an account')
    .option('--account <id>', 'account (default: the first)')
    .option('--json', 'print JSON')
    .action(async (options: AccountOption) => (await import('./keys.ts')).keysList(options))
  keys
    .command('revoke')
    .description('revoke a key')
    .argument('<id>', 'ID of the key')
    .action(async (id: string, options: object) => (await import('./keys.ts')).keysRevoke(id, options))
}

function addCredits(program: Command): void {
  const credits = program.command('credits').description('credit of accounts')
  addCreditEntries(credits)
  credits
    .command('show')
    .description('show what an account has')
    .option('--account <id>', 'account (default: the first)')
    .option('--json', 'print JSON')
    .action(async (options: AccountOption) => (await import('./credits.ts')).creditsShow(options))
  credits
    .command('rerate')
    .description("correct past charges of a model to today's price, by new rows of the ledger")
    .requiredOption('--model <id>', 'the model', parseName)
    .requiredOption('--since <time>', 'charges made from then on, ISO 8601 in UTC', parseTime)
    .option('--until <time>', 'charges made before then', parseTime)
    .option('--account <id>', 'account (default: the first)')
    .option('--all-accounts', 'every account')
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'print JSON')
    .action(async (options: CreditsRerateOptions) => (await import('./credits-rerate.ts')).creditsRerate(options))
}

const CREDIT_ENTRIES: Readonly<Record<EnteredKind, string>> = {
  grant: 'give an account credit for nothing',
  purchase: 'enter credit that was paid for',
  refund: 'give credit back to the customer',
  debit: 'take credit away: a chargeback or a correction; the balance may go below zero',
}

function addCreditEntries(credits: Command): void {
  for (const kind of ENTERED_KINDS) {
    const note = new Option('--note <text>', 'why; the customer sees it')
    credits
      .command(kind)
      .description(CREDIT_ENTRIES[kind])
      .requiredOption('--usd <usd>', 'how much, at most 9 decimals', parseAmount)
      .option('--account <id>', 'account (default: the first)')
      .addOption(kind === 'debit' ? note.argParser(parseReason).makeOptionMandatory() : note.argParser(parseNote))
      .option('--idempotency-key <key>', 'makes one entry, however often it is run with this key', parseKey)
      .option('--json', 'print the row of the ledger as JSON')
      .action(async (options: CreditsEntryOptions) => (await import('./credits.ts')).creditsEnter(kind, options))
  }
}

function addLedger(program: Command): void {
  const ledger = program.command('ledger').description('the ledger')
  ledger
    .command('audit')
    .description('recompute every charge and sum from tokens and prices; exit code 1 if something is wrong')
    .option('--account <id>', 'only this account (default: all)')
    .option('--since <time>', 'only what was made from then on, ISO 8601 in UTC', parseTime)
    .option('--restart', 'begin anew where an audit was interrupted')
    .option('--json', 'print JSON')
    .action(async (options: LedgerAuditOptions) => (await import('./ledger-audit.ts')).ledgerAudit(options))
  ledger
    .command('recovery')
    .description('list damaged spools of this data directory, and what became of the requests that they do not decide')
    .option('--json', 'print JSON')
    .action(async (options: JsonOption) => (await import('./ledger-recovery.ts')).ledgerRecovery(options))
}

function addLoginLink(program: Command): void {
  program
    .command('login-link')
    .description('print a one-time sign-in link of the dashboard for the owner')
    .action(async (options: object) => (await import('./login-link.ts')).loginLink(options))
}

function addCopies(program: Command): void {
  program
    .command('backup')
    .description('write a copy of the SQLite database, also while the service runs')
    .argument('<file>', 'the copy; it must not be there yet')
    .action(async (file: string) => (await import('./backup.ts')).backup(file))
  program
    .command('restore')
    .description('put a backup in the place of the SQLite database; the service must not run')
    .argument('<file>', 'the backup')
    .action(async (file: string) => (await import('./restore.ts')).restore(file))
  program
    .command('migrate-to-postgres')
    .description('move everything from SQLite to an empty Postgres database; the service must not run')
    .argument('<url>', 'postgres://…')
    .option('--batch <rows>', 'most rows of a transaction', parseWholeNumber)
    .action(async (url: string, options: MoveOptions) =>
      (await import('./migrate-to-postgres.ts')).moveToPostgres(url, options),
    )
}

function addConfig(program: Command): void {
  const config = program.command('config').description('the configuration')
  config
    .command('check')
    .description('validate a configuration file, in this environment')
    .argument('<file>', 'the file')
    .action(async (file: string) => (await import('./config.ts')).configCheck(file))
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .action(async () => (await import('./config.ts')).configSchema())
}

function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check what the service needs, and say how to mend what is wrong')
    .option('--json', 'print JSON')
    .action(async (options: JsonOption) => (await import('./doctor.ts')).doctor(options))
}
