/** `turnpike agents …`. Names and flags are a contract with scripts. */
import { type Command, Option } from 'commander'
import { AGENT_STATUSES } from '../../domain/agent.ts'
import type { AgentsOptions, ListOptions } from '../agents.ts'
import type { CreateOptions, PromptOptions } from '../agents-create.ts'
import type { LogsOptions } from '../agents-logs.ts'
import { parseAgentId, parseMaxCost, parseMaxSteps, parseRepository } from '../agents-values.ts'
import { parseName } from '../option-values.ts'
import type { TargetOptions } from './target.ts'
import { withTarget } from './target-options.ts'

export function addAgents(program: Command): void {
  const agents = program.command('agents').description('coding agents: give them work, watch them, see what they did')
  addWork(agents)
  addLooking(agents)
}

function addWork(agents: Command): void {
  withTarget(agents.command('create'))
    .description('let an agent work on a repository, and print its ID')
    .argument('[prompt]', "what is to be done; '-', or none, reads it from standard input")
    .option('--repository <name>', "organisation/repository (default: this folder's remote 'origin')", parseRepository)
    .option('--name <name>', 'what it is called (default: the first line of the prompt)', parseName)
    .option('--model <id>', "the model (default: the server's)", parseName)
    .option('--branch <name>', "what the work starts from (default: the repository's default branch)", parseName)
    .option('--max-cost <usd>', 'most that a run may cost', parseMaxCost)
    .option('--max-steps <count>', 'most calls of the model in a run', parseMaxSteps)
    .option('--wait', 'stay until it has ended, and print its summary; exit 1 unless it completed')
    .option('--json', 'print JSON')
    .action(async (prompt: string | undefined, options: CreateOptions) =>
      (await import('../agents-create.ts')).agentsCreate(prompt, options),
    )
  withTarget(agents.command('follow-up'))
    .description('tell an agent more; one that has ended begins a further run')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .argument('[prompt]', "what is to be done; '-', or none, reads it from standard input")
    .option('--wait', 'stay until it has ended, and print its summary; exit 1 unless it completed')
    .option('--json', 'print JSON')
    .action(async (id: string, prompt: string | undefined, options: PromptOptions) =>
      (await import('../agents-create.ts')).agentsFollowUp(id, prompt, options),
    )
  withTarget(agents.command('cancel'))
    .description('end an agent that waits or runs; what it did is kept')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('--json', 'print JSON')
    .action(async (id: string, options: AgentsOptions) => (await import('../agents.ts')).agentsCancel(id, options))
}

function addLooking(agents: Command): void {
  withTarget(agents.command('list'))
    .description('list the agents of an account, the newest first')
    .addOption(new Option('--status <status>', 'only these').choices([...AGENT_STATUSES]))
    .option('--repository <name>', 'only those of organisation/repository', parseRepository)
    .option('--all', 'all of them, not only the newest')
    .option('--json', 'print JSON')
    .action(async (options: ListOptions) => (await import('../agents.ts')).agentsList(options))
  withTarget(agents.command('show'))
    .description('show an agent')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('--json', 'print JSON')
    .action(async (id: string, options: AgentsOptions) => (await import('../agents.ts')).agentsShow(id, options))
  withTarget(agents.command('logs'))
    .description('show what an agent did')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .option('-f, --follow', 'and what it does, until it has ended')
    .option('--json', 'print the events as JSON, one a line')
    .action(async (id: string, options: LogsOptions) => (await import('../agents-logs.ts')).agentsLogs(id, options))
  withTarget(agents.command('diff'))
    .description('print what an agent changed, as a unified diff')
    .argument('<id>', 'ID of the agent', parseAgentId)
    .action(async (id: string, options: TargetOptions) => (await import('../agents-diff.ts')).agentsDiff(id, options))
}
