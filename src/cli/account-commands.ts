/** `turnpike accounts …`: its commands and flags. */
import type { Command } from 'commander'
import type { NanoUsd } from '../domain/money.ts'
import { parseName, parseOverrun } from './option-values.ts'

interface JsonOption {
  readonly json?: boolean
}

export interface AccountsCreateOptions extends JsonOption {
  readonly name: string
  readonly plan?: string
}

type Overrun = [id: string, overrun: NanoUsd | null, options: JsonOption]

export function addAccounts(program: Command): void {
  const accounts = program.command('accounts').description('accounts')
  accounts
    .command('create')
    .description('make an account and print its ID')
    .requiredOption('--name <name>', 'what the account is called', parseName)
    .option('--plan <plan>', "plan (default: the configuration's)")
    .option('--json', 'print JSON')
    .action(async (options: AccountsCreateOptions) => (await import('./accounts.ts')).accountsCreate(options))
  accounts
    .command('list')
    .description('list the accounts')
    .option('--json', 'print JSON')
    .action(async (options: JsonOption) => (await import('./accounts.ts')).accountsList(options))
  accounts
    .command('set-plan')
    .description('give an account another plan')
    .argument('<id>', 'ID of the account')
    .argument('<plan>', 'name of the plan')
    .option('--json', 'print JSON')
    .action(async (id: string, plan: string, options: JsonOption) =>
      (await import('./accounts.ts')).accountsSetPlan(id, plan, options),
    )
  accounts
    .command('set-overrun')
    .description('set how far the balance of an account may fall below zero')
    .argument('<id>', 'ID of the account')
    .argument('<usd>', 'dollars, or `default`: as its plan says', parseOverrun)
    .option('--json', 'print JSON')
    .action(async (...given: Overrun) => (await import('./accounts.ts')).accountsSetOverrun(...given))
}
