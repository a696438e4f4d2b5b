/** Examples in the help of every command. A test parses each. */
import type { Command } from 'commander'
import { IMPORT_EXAMPLES } from '../import/commands.ts'
import { invocation } from '../invocation.ts'

const KEY = 'key_01jd3kq7rv8m2n4p6s8t0w2y'
const ACCOUNT = 'acc_01jd3kq7rv8m2n4p6s8t0w2y'
const TEAM = 'team_01jd3kq7rv8m2n4p6s8t0w2y'
const AGENT = 'agt_01jd3kq7rv8m2n4p6s8t0w2y'
const WEBHOOK = 'whk_01jd3kq7rv8m2n4p6s8t0w2y'
const CREDENTIAL = 'pcr_01jd3kq7rv8m2n4p6s8t0w2y'

/** What follows each command, by its words. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ['', '--config ./turnpike.yaml --port 8080', '--role worker'],
  reload: [''],
  migrate: ['--dry-run', ''],
  'keys create': ['--name production', '--name ci --scopes chat --requests-per-minute 60 --expires-in 30d'],
  'keys list': ['', '--json'],
  'keys rotate': ['production --overlap 24h', `${KEY} --overlap 0`],
  'keys disable': ['production'],
  'keys enable': ['production'],
  'keys revoke': ['production', `${KEY} --no-cascade`],
  'teams create': [
    '--name Search --requests-per-minute 600',
    '--name Search --tags department=search --require-tags customer,project',
  ],
  'teams update': ['Search --tags department=search,env=prod', `${TEAM} --zdr --regions eu`],
  'teams list': ['', '--json'],
  'teams archive': ['Search'],
  'teams members': ['Search'],
  'teams add': ['Search ada@example.com --role admin'],
  'teams remove': ['Search ada@example.com'],
  'accounts create': ['--name Example --plan pro'],
  'accounts list': ['', '--json'],
  'accounts set-plan': ['Example pro', `${ACCOUNT} pro`],
  'accounts set-overrun': ['Example 0.05', `${ACCOUNT} default`],
  'accounts set-policy': ['Example --data-collection deny --regions eu'],
  'credits show': ['', '--account Example'],
  'credits rerate': [
    '--model openai/gpt-5 --from 2026-11-01 --dry-run',
    '--model openai/gpt-5 --from 7d --all-accounts',
  ],
  'credits grant': ['--usd 25 --note "Welcome"'],
  'credits purchase': ['--usd 100 --idempotency-key invoice-17'],
  'credits refund': ['--usd 12.50 --note "Duplicate payment"'],
  'credits debit': ['--usd 5 --note "Chargeback"'],
  'budgets list': ['', '--json'],
  'budgets set': ['--budget 500/month', '--level team --subject Search --budget 50/day --warn'],
  'budgets raise': ['bud_01jd3kq7rv8m2n4p6s8t0w2y --usd 100 --for 3d --reason "Launch week"'],
  'ledger audit': ['', '--from 7d', '--from 2026-11-01 --json'],
  'ledger recovery': [''],
  login: ['', '--url https://ai.example.com --open'],
  logout: ['', '--all'],
  whoami: ['', '--json'],
  models: ['', '--json'],
  usage: [
    '',
    '--from 7d --group-by model',
    '--from 2026-11-01 --to 2026-12-01 --group-by key --json',
    '--account all --group-by account',
  ],
  chat: ['', 'openai/gpt-5 --system "Answer briefly."'],
  setup: ['claude', 'codex --write'],
  'agents create': ['"Fix the typos in README.md" --repository example/website --wait'],
  'agents follow-up': [`${AGENT} "Also add a test" --wait`],
  'agents cancel': [AGENT],
  'agents pull-request': [AGENT, `${AGENT} --title "Fix the date" --draft`],
  'agents list': ['', '--status running'],
  'agents show': [AGENT],
  'agents logs': [`${AGENT} --follow`],
  'agents diff': [AGENT],
  'webhooks listen': ['--forward localhost:3000/webhooks'],
  'webhooks trigger': ['usage.alert'],
  'webhooks resend': ['dlv_01jd3kq7rv8m2n4p6s8t0w2y', `--webhook ${WEBHOOK} --failed-since 2h`],
  'webhooks list': ['', '--json'],
  'webhooks create': ['https://example.com/webhooks --events usage.alert,key.expiring'],
  'webhooks delete': [WEBHOOK],
  'webhooks deliveries': [`${WEBHOOK} --status failed`],
  'provider-credentials add': ['openai --name "Our contract"'],
  'provider-credentials list': ['', '--json'],
  'provider-credentials rotate': [CREDENTIAL],
  'provider-credentials remove': [CREDENTIAL],
  'login-link': [''],
  backup: ['turnpike-2026-11-24.db'],
  restore: ['turnpike-2026-11-24.db'],
  'migrate-to-postgres': ['postgres://turnpike@db.example.com/turnpike'],
  'catalogue pull': ['--dry-run', '--from https://prices.example.com/catalogue.json --accept'],
  'catalogue reset': [''],
  'catalogue keygen': ['--out publisher.key'],
  'catalogue sign': ['--key publisher.key --out catalogue.json'],
  'config check': ['', 'turnpike.yaml'],
  'config schema': [''],
  'config explain': ['', 'server.port'],
  'config diff': ['turnpike.new.yaml'],
  'config export': [''],
  doctor: ['', '--json'],
  ...IMPORT_EXAMPLES,
  completion: [
    'bash > ~/.local/share/bash-completion/completions/turnpike',
    'zsh > ~/.zfunc/_turnpike',
    'fish | source',
  ],
}

const MOST_OF_A_GROUP = 3

/** Adds them to the help of a program's commands; a group of commands shows some of theirs. */
export function addExamples(program: Command): void {
  for (const command of program.commands) addTo(command, command.name())
  addText(
    program,
    ['serve', 'keys create', 'usage'].flatMap((path) => examplesOf(path).slice(0, 1)),
  )
}

function addTo(command: Command, path: string): readonly string[] {
  const below = command.commands.flatMap((each) => addTo(each, `${path} ${each.name()}`).slice(0, 1))
  const examples = below.length > 0 ? below.slice(0, MOST_OF_A_GROUP) : examplesOf(path)
  addText(command, examples)
  return examples
}

/** Without the name of the program. */
export function examplesOf(path: string): readonly string[] {
  return (EXAMPLES[path] ?? []).map((rest) => `${path} ${rest}`.trimEnd())
}

function addText(command: Command, examples: readonly string[]): void {
  if (examples.length === 0) return
  const lines = examples.map((each) => `\n  $ ${invocation()} ${each}`)
  command.addHelpText('after', `\n${examples.length === 1 ? 'Example' : 'Examples'}:${lines.join('')}`)
}
