/** The commands that speak to a server, here or elsewhere. Names and flags are a contract with scripts. */
import { type Command, Option } from 'commander'
import type { ChatOptions } from '../chat.ts'
import type { LoginOptions } from '../login.ts'
import type { LogoutOptions } from '../logout.ts'
import type { ModelsOptions } from '../models.ts'
import { parseName, parseTime } from '../option-values.ts'
import type { UsageOptions } from '../usage.ts'
import type { WhoamiOptions } from '../whoami.ts'
import { addAgents } from './agent-commands.ts'
import { introduceAs } from './http.ts'
import { profileOption, withTarget } from './target-options.ts'
import { addWebhooks } from './webhook-commands.ts'

/** @param version Told to servers. */
export function addRemoteCommands(program: Command, version: string): void {
  introduceAs(version)
  addSignIn(program)
  addReading(program)
  addChat(program)
  addAgents(program)
  addWebhooks(program, version)
}

function addSignIn(program: Command): void {
  withTarget(program.command('login'))
    .description('sign this command line in to a server, by approving it in a browser')
    .option('--open', 'open the browser')
    .option('--insecure-file', 'keep the tokens in a file (mode 0600), where there is no credential store')
    .action(async (options: LoginOptions) => (await import('../login.ts')).login(options))
  program
    .command('logout')
    .description('end the sign-in, at the server and here')
    .addOption(profileOption())
    .option('--all', 'that of every profile')
    .action(async (options: LogoutOptions) => (await import('../logout.ts')).logout(options))
  withTarget(program.command('whoami'))
    .description('show as whom commands speak, and to which server')
    .option('--json', 'print JSON')
    .action(async (options: WhoamiOptions) => (await import('../whoami.ts')).whoami(options))
}

function addReading(program: Command): void {
  withTarget(program.command('models'))
    .description('list the models that can be used, with their prices')
    .option('--json', 'print JSON')
    .action(async (options: ModelsOptions) => (await import('../models.ts')).models(options))
  withTarget(program.command('usage'))
    .description('show what was used and what is left; of this month, unless said')
    .option('--period-start <time>', 'from then on, ISO 8601 in UTC', parseTime)
    .option('--period-end <time>', 'before then', parseTime)
    .addOption(new Option('--group-by <what>', 'add it up by').choices(['model', 'key', 'day', 'agent']))
    .option('--json', 'print JSON')
    .action(async (options: UsageOptions) => (await import('../usage.ts')).usage(options))
}

function addChat(program: Command): void {
  withTarget(program.command('chat'))
    .description('talk to a model; what is piped in is one question')
    .argument('[model]', 'ID of the model (default: the first that the server lists)', parseName)
    .option('--model <id>', 'the same', parseName)
    .option('--system <text>', 'what the model is told first')
    .action(async (model: string | undefined, options: ChatOptions) =>
      (await import('../chat.ts')).chat(model, options),
    )
}
