/**
 * Runs administrative commands of a gateway in the test's own process, on the same database and with the same code as
 * `turnpike`: starting a process for each command costs ten times as much CPU as the command itself.
 */
import { parseArgs } from 'node:util'
import { addAccount, changePlan } from '../../../src/cli/accounts.ts'
import { builtIn } from '../../../src/cli/configuration.ts'
import { type CommandContext, chosenAccount, withDatabase } from '../../../src/cli/database.ts'
import { parseAmount } from '../../../src/cli/option-values.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { keepThreads } from '../../../src/db/sqlite/open.ts'
import { SCOPES } from '../../../src/domain/identity/caller.ts'
import { createKey, FULL_ACCESS } from '../../../src/features/keys/queries.ts'

// Else each key starts two threads, ten times the work of the key itself.
keepThreads()

/** The environment and working directory of a command. */
export interface Installation {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

export interface WantedKey {
  /** The ID of an account, or `new` for a new account; by default the first account. */
  readonly account?: string
  readonly operator?: boolean
}

async function inInstallation<Result>(
  { env, cwd }: Installation,
  action: (context: CommandContext) => Promise<Result>,
): Promise<Result> {
  return withDatabase(action, await loadConfig({ env, cwd, builtIn: builtIn() }))
}

/** Returns the secret of a new key with full access. */
export function makeKey(installation: Installation, { account, operator = false }: WantedKey): Promise<string> {
  return inInstallation(installation, async (context) => {
    const { id: accountId } =
      account === 'new' ? await addAccount(context, { name: 'test' }) : await chosenAccount(context, account)
    const rights = operator ? { ...FULL_ACCESS, scopes: SCOPES } : FULL_ACCESS
    return (await createKey(context.db, { ...rights, accountId, name: 'test' }, context)).secret
  })
}

/** Returns the ID of the first account, which is made where there is none. */
export function firstAccount(installation: Installation): Promise<string> {
  return inInstallation(installation, async (context) => (await chosenAccount(context, undefined)).id)
}

/** Returns the output of a command, or undefined for commands that need a process of their own. */
export async function runCommand(installation: Installation, args: readonly string[]): Promise<string | undefined> {
  const [noun, verb, ...rest] = args
  const command = COMMANDS[`${noun} ${verb}`]
  if (command === undefined) return undefined
  const { values, positionals } = parseArgs({ args: rest, options: FLAGS, allowPositionals: true })
  return inInstallation(installation, (context) => command(context, values, positionals))
}

const FLAGS = {
  name: { type: 'string' },
  plan: { type: 'string' },
  account: { type: 'string' },
  usd: { type: 'string' },
  note: { type: 'string' },
} as const
type Flags = Readonly<Partial<Record<keyof typeof FLAGS, string>>>
type Command = (context: CommandContext, flags: Flags, words: readonly string[]) => Promise<string>

const COMMANDS: Readonly<Record<string, Command>> = {
  'accounts create': async (context, { name = '', ...flags }) => (await addAccount(context, { name, ...flags })).id,
  'accounts set-plan': async (context, _, [id = '', plan = '']) => (await changePlan(context, id, plan)).plan,
  'credits grant': async (context, { usd = '', ...flags }) => {
    const { addCreditEntry } = await import('../../../src/cli/credits.ts') // loads the catalogue of models
    return addCreditEntry(context, 'grant', { ...flags, usd: parseAmount(usd) })
  },
}
