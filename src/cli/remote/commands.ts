/** Defines the commands that call a server over HTTP. Names and flags are a contract with scripts. */
import { Argument, type Command, Option } from 'commander'
import { AGENT_STATUSES } from '../../domain/agent.ts'
import { lazily } from '../lazy-action.ts'
import {
  CLIENT_NAMES,
  parseAgentId,
  parseDeliveryId,
  parseEventType,
  parseEventTypes,
  parseMaxCost,
  parseMaxSteps,
  parseName,
  parsePastTime,
  parseProviderCredentialId,
  parseReceiver,
  parseRepository,
  parseServerUrl,
  parseVariable,
  parseWebhookId,
  parseWholeNumber,
} from '../option-values.ts'
import type { ListenOptions } from '../webhooks/listen.ts'
import { parseProfileName } from './auth/profiles.ts'
import { setClientVersion } from './http.ts'

/** @param version Sent to servers in `User-Agent`. */
export function addRemoteCommands(program: Command, version: string): void {
  setClientVersion(version)
  addSignIn(program)
  addReports(program)
  addChat(program)
  addSetup(program)
  addAgents(program)
  addWebhooks(program, version)
  addProviderCredentials(program)
}

function addSignIn(program: Command): void {
  withTarget(program.command('login'))
    .description('sign in to a server by approving this device in a browser')
    .option('--open', 'open the approval page in a browser')
    .option('--insecure-file', 'store the tokens in a file (mode 0600), for machines without a credential store')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./login.ts'), 'login'))
  program
    .command('logout')
    .description('sign out: revoke the tokens at the server and delete them from this machine')
    .addOption(profileOption())
    .option('--all', 'sign out of every profile')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./login.ts'), 'logout'))
  withTarget(program.command('whoami'))
    .description('show the server and the identity that commands use')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./account.ts'), 'whoami'))
}

const USAGE_GROUPS = ['model', 'kind', 'key', 'day', 'agent', 'account'] as const

function addReports(program: Command): void {
  withTarget(program.command('models'))
    .description('list the available models and their prices')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./account.ts'), 'models'))
  withTarget(program.command('usage'))
    .description('show usage and remaining credit (default: the current month)')
    .option('--from <time>', 'start of the period, such as 7d for the last seven days, or ISO 8601', parsePastTime)
    .option('--to <time>', 'end of the period, exclusive (default: now)', parsePastTime)
    .addOption(new Option('--period-start <time>', 'same as --from').argParser(parsePastTime).hideHelp())
    .addOption(new Option('--period-end <time>', 'same as --to').argParser(parsePastTime).hideHelp())
    .addOption(new Option('--group-by <what>', 'group the totals by').choices(USAGE_GROUPS))
    .option('--account <id>', 'ID of an account, or all, for operators (default: your own account)', parseName)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./account.ts'), 'usage'))
}

function addChat(program: Command): void {
  withTarget(program.command('chat'))
    .description('chat with a model; piped input is sent as a single message')
    .argument('[model]', 'ID of the model (default: the first one that the server lists)', parseName)
    .option('--model <id>', 'same as the argument', parseName)
    .option('--system <text>', 'system prompt')
    .action(lazily(() => import('./chat.ts'), 'chat'))
}

function addSetup(program: Command): void {
  withTarget(program.command('setup'))
    .description('print the configuration of a coding client for this gateway, or apply it')
    .addArgument(new Argument('<client>', 'the client').choices(CLIENT_NAMES))
    .option('--model <id>', 'model (default: the first one that the server lists)', parseName)
    .option(
      '--small-model <id>',
      'model for small tasks, of clients with such a setting (default: the same)',
      parseName,
    )
    .option('--key-variable <name>', 'environment variable with the API key', parseVariable, 'TURNPIKE_API_KEY')
    .option('--write', "show the changes of the client's file, ask, and apply them")
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nOther clients: /docs/clients/ of the gateway has a page for each.')
    .action(lazily(() => import('../setup/setup.ts'), 'setup'))
}

function addAgents(program: Command): void {
  const agents = program.command('agents').description('create, follow and inspect coding agents')
  addAgentRuns(agents)
  addAgentViews(agents)
}

function addAgentRuns(agents: Command): void {
  withTarget(agents.command('create'))
    .description('create an agent that works on a repository, and print its ID')
    .argument('[prompt]', "the task; '-' or no argument reads standard input")
    .option(
      '--repository <name>',
      "organisation/repository (default: the remote 'origin' of this folder)",
      parseRepository,
    )
    .option('--name <name>', 'name of the agent (default: the first line of the prompt)', parseName)
    .option('--model <id>', "the model (default: the server's default)", parseName)
    .option('--branch <name>', "base branch (default: the repository's default branch)", parseName)
    .option('--max-cost <usd>', 'cost limit of a run', parseMaxCost)
    .option('--max-steps <count>', 'limit of model calls in a run', parseMaxSteps)
    .option('--wait', 'wait until the agent ends and print its summary; exit code 1 unless it completes')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../agents/create.ts'), 'agentsCreate'))
  withTarget(agents.command('follow-up'))
    .description('send a follow-up to an agent; starts another run if it has ended')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .argument('[prompt]', "the task; '-' or no argument reads standard input")
    .option('--wait', 'wait until the agent ends and print its summary; exit code 1 unless it completes')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../agents/create.ts'), 'agentsFollowUp'))
  withTarget(agents.command('cancel'))
    .description('cancel a queued or running agent; its work is kept')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('--json', 'print JSON')
    .action(lazily(() => import('../agents/agents.ts'), 'agentsCancel'))
  withTarget(agents.command('pull-request'))
    .description('open a pull request for the branch of an agent, and print its address')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('--title <text>', 'title (default: the name of the agent)', parseName)
    .option('--base <branch>', "branch to merge into (default: the agent's base branch)", parseName)
    .option('--draft', 'open it as a draft')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../agents/agents.ts'), 'agentsPullRequest'))
}

function addAgentViews(agents: Command): void {
  withTarget(agents.command('list'))
    .description('list the agents of an account, newest first')
    .addOption(new Option('--status <status>', 'only agents with this status').choices([...AGENT_STATUSES]))
    .option('--repository <name>', 'only agents of organisation/repository', parseRepository)
    .option('--all', 'all agents, not only the newest page')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../agents/agents.ts'), 'agentsList'))
  withTarget(agents.command('show'))
    .description('show an agent')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('--json', 'print JSON')
    .action(lazily(() => import('../agents/agents.ts'), 'agentsShow'))
  withTarget(agents.command('logs'))
    .description('show the log of an agent')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('-f, --follow', 'follow the log until the agent ends')
    .option('--json', 'print the events as JSON, one per line')
    .action(lazily(() => import('../agents/agents.ts'), 'agentsLogs'))
  withTarget(agents.command('diff'))
    .description('print the changes of an agent as a unified diff')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .action(lazily(() => import('../agents/agents.ts'), 'agentsDiff'))
}

/** @param version Sent to receivers in `User-Agent`. */
function addWebhooks(program: Command, version: string): void {
  const webhooks = program.command('webhooks').description('receive webhook events, send test events, manage endpoints')
  addListen(webhooks, version)
  addSending(webhooks)
  addEndpoints(webhooks)
}

function addListen(webhooks: Command, version: string): void {
  withTarget(webhooks.command('listen'))
    .description('receive the webhook events of an account on this machine, for development')
    .option(
      '--forward <url>',
      'post each event, signed, to this address, such as localhost:3000/webhooks',
      parseReceiver,
    )
    .option('--events <list>', 'comma-separated event types (default: all)', parseEventTypes)
    .option('--secret <secret>', 'signing secret (default: a fixed secret of this machine)')
    .option('--print-json', 'print the event bodies as JSON, one per line')
    .option('--json', 'same as --print-json')
    .action(async (options: ListenOptions) => (await import('../webhooks/listen.ts')).webhooksListen(options, version))
}

function addSending(webhooks: Command): void {
  withTarget(webhooks.command('trigger'))
    .description('create a test event with sample data; it is delivered like any other')
    .argument('<event>', 'type of the event', parseEventType)
    .option('--json', 'print JSON')
    .action(lazily(() => import('../webhooks/webhooks.ts'), 'webhooksTrigger'))
  withTarget(webhooks.command('resend'))
    .description('resend a delivery, or all failed deliveries of an endpoint')
    .argument('[delivery]', 'ID of the delivery', parseDeliveryId)
    .option('--webhook <id>', 'ID of the endpoint (default: the endpoint of the delivery)', parseWebhookId)
    .option('--failed-since <time>', 'resend what failed since this time, or in the last 2h', parsePastTime)
    .option('--json', 'print JSON')
    .action(lazily(() => import('../webhooks/webhooks.ts'), 'webhooksResend'))
}

function addEndpoints(webhooks: Command): void {
  withTarget(webhooks.command('list'))
    .description('list the endpoints of an account')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../webhooks/webhooks.ts'), 'webhooksList'))
  withTarget(webhooks.command('create'))
    .description('create an endpoint and print its secret, which is shown only once')
    .argument('<url>', 'URL that receives the events', parseName)
    .option('--events <list>', 'comma-separated event types (default: all)', parseEventTypes)
    .option('--description <text>', 'description of the endpoint')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../webhooks/webhooks.ts'), 'webhooksCreate'))
  withTarget(webhooks.command('delete'))
    .description('delete an endpoint and its deliveries')
    .argument('<id>', 'ID of the endpoint', parseWebhookId)
    .option('--json', 'print JSON')
    .action(lazily(() => import('../webhooks/webhooks.ts'), 'webhooksDelete'))
  withTarget(webhooks.command('deliveries'))
    .description('list the deliveries to an endpoint, newest first')
    .argument('<id>', 'ID of the endpoint', parseWebhookId)
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices(['pending', 'delivered', 'failed']),
    )
    .option('--limit <count>', 'page size, 1 to 100 (default: 20)', parseWholeNumber)
    .option('--cursor <cursor>', 'continue after the previous page')
    .option('--json', 'print JSON')
    .action(lazily(() => import('../webhooks/webhooks.ts'), 'webhooksDeliveries'))
}

function addProviderCredentials(program: Command): void {
  const credentials = program
    .command('provider-credentials')
    .description("manage the account's own credentials at providers (bring your own key)")
  const load = () => import('./provider-credentials.ts')
  withTarget(credentials.command('add'))
    .description('test and store a key of a provider, read from standard input or TURNPIKE_PROVIDER_API_KEY')
    .argument('<provider>', 'name of the provider', parseName)
    .option('--name <name>', 'label', parseName)
    .option('--key <id>', 'only for requests of this API key (default: all of the account)', parseName)
    .option('--allow-fallback', "use the operator's credentials, at the full price, when this one fails")
    .option('--json', 'print JSON')
    .action(lazily(load, 'credentialsAdd'))
  withTarget(credentials.command('list'))
    .description('list the credentials, never their keys')
    .option('--json', 'print JSON')
    .action(lazily(load, 'credentialsList'))
  withTarget(credentials.command('rotate'))
    .description('replace the key of a credential, read as by add')
    .argument('<id>', 'ID of the credential', parseProviderCredentialId)
    .option('--json', 'print JSON')
    .action(lazily(load, 'credentialsRotate'))
  withTarget(credentials.command('remove'))
    .description('delete a credential')
    .argument('<id>', 'ID of the credential', parseProviderCredentialId)
    .option('--json', 'print JSON')
    .action(lazily(load, 'credentialsRemove'))
}

/** Adds the flags that select the server and the identity. */
function withTarget(command: Command): Command {
  return command
    .option('--url <url>', 'server (default: TURNPIKE_URL, else the server you are signed in to)', parseServerUrl)
    .addOption(profileOption())
}

function profileOption(): Option {
  return new Option('--profile <name>', 'sign-in to use (default: the most recent one)').argParser(parseProfileName)
}
