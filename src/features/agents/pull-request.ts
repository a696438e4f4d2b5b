/**
 * Pull requests for the branches of agents: whether one can be opened, and the request to the host, after which the agent has
 * its address. The host is asked every time, since people close pull requests there.
 */
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { branchOf, isEnded } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AuditedRequest } from '../../http/request-origin.ts'
import { closed, oneOf, optional } from '../../http/wire-fields.ts'
import { type OpenedPullRequest, openPullRequest, type RepositoryHost } from '../../runner/git/repository-host.ts'
import type { GitCredential } from '../../runner/git/settings.ts'
import type { WriteAudit } from '../deps.ts'
import { type Agent, type AgentReference, lockAgent, requireAgent } from './store.ts'

/** What the operator configured for the repository of an agent. */
export interface RepositoryAccess {
  /** Undefined: neither GitHub nor GitLab. */
  readonly host: RepositoryHost | undefined
  readonly credential: GitCredential | undefined
  readonly allowPrivateNetworks: boolean
}

export const DISABLED_REASONS = ['unsupported_host', 'no_credential', 'not_ended', 'not_pushed'] as const
type DisabledReason = (typeof DISABLED_REASONS)[number]

const MAX_TITLE_LENGTH = 200
const MAX_BODY_LENGTH = 60_000

export const PullRequestCreate = closed({
  title: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_TITLE_LENGTH,
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
      description: 'Default: the name of the agent.',
    }),
  ),
  body: optional(
    Type.String({
      maxLength: MAX_BODY_LENGTH,
      pattern: '^[^\\u0000]*$',
      description: 'Markdown. Default: the summary of the agent.',
    }),
  ),
  base: optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      examples: ['main'],
      description: 'Branch to merge into. Default: the base branch of the agent, or the repository’s default branch.',
    }),
  ),
  draft: optional(Type.Boolean({ description: 'Whether to open it as a draft.' })),
})

export const PullRequestView = Type.Object({
  object: Type.Literal('pull_request'),
  url: Type.String({ description: 'Its page.' }),
  number: Type.Integer(),
  base: Type.String({ description: 'Branch to merge into.' }),
  head: Type.String({ description: 'Branch of the agent.' }),
  provider: oneOf(['github', 'gitlab']),
})

/** Why no pull request can be opened; undefined: one can. What the operator has to change comes first. */
export function disabledReason(agent: Agent, { host, credential }: RepositoryAccess): DisabledReason | undefined {
  if (host === undefined) return 'unsupported_host'
  if (credential === undefined) return 'no_credential'
  if (!isEnded(agent.status)) return 'not_ended'
  return agent.pushed === 1 ? undefined : 'not_pushed'
}

function notPossible(reason: DisabledReason, { repository, status }: Agent): GatewayError {
  switch (reason) {
    case 'unsupported_host': {
      const message = `'${repository}' is not known to be on GitHub or GitLab. If it is, the operator sets 'agents.git_provider'.`
      return new GatewayError('pull_request_refused', message)
    }
    case 'no_credential': {
      const message = `There is no credential for '${repository}'. The operator adds one to 'agents.git_credentials'.`
      return new GatewayError('pull_request_refused', message)
    }
    case 'not_ended':
      return new GatewayError('conflict', `This agent is ${status}. Wait until it has ended, or cancel it.`)
    case 'not_pushed':
      return new GatewayError('conflict', 'No run of this agent has pushed its branch. Completed runs with changes do.')
  }
}

export interface PullRequestDeps {
  readonly db: Kysely<Database>
  readonly repositoryAccess: (agent: Agent) => RepositoryAccess
  readonly writeAudit: WriteAudit
}

/** Rejects with 409 or 422 where none can be opened. */
export async function openForAgent(
  deps: PullRequestDeps,
  ask: {
    readonly reference: AgentReference
    readonly audited: AuditedRequest
    readonly body: Static<typeof PullRequestCreate>
  },
): Promise<{ readonly view: Static<typeof PullRequestView>; readonly isNew: boolean }> {
  const { reference, body } = ask
  const agent = await requireAgent(deps.db, reference)
  const { host, credential, ...rule } = deps.repositoryAccess(agent)
  const reason = disabledReason(agent, { host, credential, ...rule })
  if (host === undefined || credential === undefined || reason !== undefined) {
    throw notPossible(reason ?? 'unsupported_host', agent)
  }
  const texts = { title: body.title ?? agent.name, body: body.body ?? agent.summary ?? '' }
  const base = body.base ?? agent.base_branch ?? undefined
  const order = { head: branchOf(agent.id), base, ...texts, isDraft: body.draft === true }
  const opened = await openPullRequest(host, order, { credential, ...rule })
  await save(deps, { ...ask, opened })
  const view = { object: 'pull_request' as const, ...opened.pullRequest, provider: host.provider }
  return { view, isNew: opened.isNew }
}

/** Also where it was open already: the process may have died before it saved the address. */
async function save(
  { db, writeAudit }: PullRequestDeps,
  change: { readonly reference: AgentReference; readonly audited: AuditedRequest; readonly opened: OpenedPullRequest },
): Promise<void> {
  const { reference, audited, opened } = change
  const { url, base, head } = opened.pullRequest
  await db.transaction().execute(async (inside) => {
    await lockAgent(inside, reference)
    const { id, repository, pull_request_url: known } = await requireAgent(inside, reference)
    if (known === url) return
    await inside
      .updateTable('agent')
      .set({ pull_request_url: url })
      .where(({ and }) => and({ account_id: reference.accountId, id }))
      .execute()
    const action = opened.isNew ? 'agent.pull_request_opened' : 'agent.pull_request_found'
    await writeAudit(inside, {
      ...audited,
      action,
      subject: id,
      result: 'done',
      details: { url, repository, base, head },
    })
  })
}
