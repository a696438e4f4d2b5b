/** Why runs fail, in words, and what one can do about it. Pure. */
import type { Agent } from './queries.ts'

export interface FailureHelp {
  readonly title: string
  /** What helps; undefined: nothing but another try. */
  readonly help?: string
  readonly link?: { readonly to: string; readonly label: string }
}

const OPERATOR = 'Ask the operator of this gateway, where the command `doctor` shows what is missing.'
const MORE = 'Its work so far is kept: send a follow-up to continue.'

type Code = NonNullable<Agent['error']>['code']

const FAILURES: Readonly<Record<Code, FailureHelp>> = {
  start_timeout: { title: 'No worker started it in time', help: 'The workers may be busy or down. Try again later.' },
  agents_unavailable: { title: 'The worker has no working sandbox', help: OPERATOR },
  repository_unavailable: {
    title: 'The repository or the branch could not be fetched',
    help: 'Check both names, and that this gateway has access to the repository.',
  },
  repository_too_large: { title: 'The repository exceeds the size limit' },
  model_unavailable: {
    title: 'The model does not exist, or is not allowed',
    help: 'Start another agent with an allowed model.',
    link: { to: '/models', label: 'See models' },
  },
  insufficient_credit: {
    title: 'No credit or budget left',
    help: `Top up, or raise the budget. ${MORE}`,
    link: { to: '/billing', label: 'Go to billing' },
  },
  rate_limited: { title: 'The rate limit of the account was reached', help: `Wait a while. ${MORE}` },
  provider_error: { title: 'The model’s provider failed repeatedly', help: `Try again later. ${MORE}` },
  max_cost: { title: 'The run reached its budget', help: MORE },
  max_steps: { title: 'The run reached its step limit', help: MORE },
  run_timeout: { title: 'The run reached its time limit', help: `Give it a smaller task. ${MORE}` },
  stalled: { title: 'The run made no progress', help: `Describe the task more precisely. ${MORE}` },
  workspace_too_large: { title: 'The workspace exceeds the size limit' },
  push_failed: {
    title: 'The branch could not be pushed',
    help: 'The diff has its changes. Check that this gateway can write to the repository.',
  },
  worker_lost: { title: 'The worker stopped during the run', help: MORE },
  internal_error: { title: 'Internal error in Turnpike', help: 'The gateway’s log has the cause.' },
}

/** A code that a newer gateway sends is shown as it is. */
export function helpFor(code: string): FailureHelp {
  return isKnown(code) ? FAILURES[code] : { title: `The run failed: ${code}` }
}

function isKnown(code: string): code is Code {
  return Object.hasOwn(FAILURES, code)
}
