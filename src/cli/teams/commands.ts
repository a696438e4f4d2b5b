/** Defines `turnpike teams`. Names and flags are a contract with scripts. */
import { type Command, Option } from 'commander'
import { TEAM_ROLES } from '../../domain/identity/caller.ts'
import { lazily } from '../lazy-action.ts'
import {
  dataCollection,
  orNone,
  parseList,
  parseName,
  parseTagKeys,
  parseTagList,
  parseWholeNumber,
  REGIONS,
  ZDR,
} from '../option-values.ts'

const TEAM_TAGS = 'comma-separated default tags of its requests, such as department=search,env=prod'
const REQUIRED_TAGS = 'comma-separated keys of tags that its requests must have'

const POLICY_HELP =
  "\n--data-collection, --zdr and --regions replace the whole data policy of the team;\n--regions '' alone removes it."

export function addTeams(program: Command): void {
  const teams = program.command('teams').description('manage the teams of an account')
  teams
    .command('create')
    .description('create a team and print its ID')
    .requiredOption('--name <name>', 'name of the team', parseName)
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--models <list>', 'comma-separated models that the team may use (default: all)', parseList)
    .option('--endpoints <list>', 'comma-separated endpoints that the team may call (default: all)', parseList)
    .option('--requests-per-minute <count>', 'rate limit of all its requests together', parseWholeNumber)
    .option('--tags <list>', TEAM_TAGS, parseTagList)
    .option('--require-tags <list>', REQUIRED_TAGS, parseTagKeys)
    .addOption(dataCollection())
    .option('--zdr', ZDR)
    .option('--regions <list>', REGIONS, parseList)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsCreate'))
  teams
    .command('update')
    .description("change the settings of a team that are named; '' removes a limit or all tags")
    .argument('<team>', 'ID or name of the team')
    .option('--name <name>', 'name of the team', parseName)
    .option('--models <list>', 'comma-separated models that the team may use', orNone(parseList, []))
    .option('--endpoints <list>', 'comma-separated endpoints that the team may call', orNone(parseList, []))
    .option(
      '--requests-per-minute <count>',
      'rate limit of all its requests together',
      orNone(parseWholeNumber, 'none'),
    )
    .option('--tags <list>', TEAM_TAGS, orNone(parseTagList, {}))
    .option('--require-tags <list>', REQUIRED_TAGS, orNone(parseTagKeys, []))
    .addOption(dataCollection())
    .option('--zdr', ZDR)
    .option('--regions <list>', REGIONS, orNone(parseList, 'none'))
    .addHelpText('after', POLICY_HELP)
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsUpdate'))
  addTeamList(teams)
  addTeamMembers(teams)
}

function addTeamList(teams: Command): void {
  teams
    .command('list')
    .description('list the teams of an account, including archived ones')
    .option('--account <id>', 'ID or name of the account (default: the first account)')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsList'))
  teams
    .command('archive')
    .description('archive a team, whose keys stop within a second')
    .argument('<team>', 'ID or name of the team')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsArchive'))
}

function addTeamMembers(teams: Command): void {
  teams
    .command('members')
    .description('list who is in a team')
    .argument('<team>', 'ID or name of the team')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsMembers'))
  teams
    .command('add')
    .description('add a member of the account to a team, or change their role in it')
    .argument('<team>', 'ID or name of the team')
    .argument('<user>', 'ID or e-mail address')
    .addOption(new Option('--role <role>', 'role in the team').choices([...TEAM_ROLES]).default('member'))
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsAdd'))
  teams
    .command('remove')
    .description('remove somebody from a team')
    .argument('<team>', 'ID or name of the team')
    .argument('<user>', 'ID or e-mail address')
    .option('--json', 'print JSON')
    .action(lazily(() => import('./teams.ts'), 'teamsRemove'))
}
