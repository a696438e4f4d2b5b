/** The flags that say which server a command speaks to, and as whom. */
import { type Command, Option } from 'commander'
import { parseProfileName } from './profiles.ts'
import { parseServerUrl } from './server-url.ts'

export function withTarget(command: Command): Command {
  return command
    .option(
      '--url <url>',
      'address of the server (default: TURNPIKE_URL, else where you are signed in)',
      parseServerUrl,
    )
    .addOption(profileOption())
}

export function profileOption(): Option {
  return new Option('--profile <name>', 'one of several sign-ins (default: the last one)').argParser(parseProfileName)
}
