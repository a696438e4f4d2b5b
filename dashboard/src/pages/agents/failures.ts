/** Why runs fail, in words, and what one can do about it. Pure. */
import type { Agent } from './queries.ts'

export interface FailureHelp {
  readonly title: string
  /** What helps; undefined: nothing but another try. */
  readonly help?: string
  readonly link?: { readonly to: string; readonly label: string }
}

const OPERATOR = 'Whoever operates this gateway has to see to it; `turnpike doctor` says what is missing.'
const MORE = 'What it did until then is kept: a follow-up goes on from there.'

type Code = NonNullable<Agent['error']>['code']

const FAILURES: Readonly<Record<Code, FailureHelp>> = {
  start_timeout: { title: 'No worker started it in time', help: 'The workers may be busy or away. Try again later.' },
  agents_unavailable: { title: 'The worker has no sandbox that holds', help: OPERATOR },
  repository_unavailable: {
    title: 'The repository or the branch could not be fetched',
    help: 'Check their names, and that this gateway has been given access to the repository.',
  },
  repository_too_large: { title: 'The repository is larger than is allowed' },
  model_unavailable: {
    title: 'The model does not exist, or may not be used',
    help: 'Start another agent with a model that you may use.',
    link: { to: '/models', label: 'See models' },
  },
  insufficient_credit: {
    title: 'Credit or a budget is used up',
    help: `Top up, or raise the budget. ${MORE}`,
    link: { to: '/billing', label: 'Go to billing' },
  },
  rate_limited: { title: 'The rate limit of the account did not let it go on', help: `Wait a while. ${MORE}` },
  provider_error: { title: 'The model’s provider failed again and again', help: `Try again later. ${MORE}` },
  max_cost: { title: 'It reached the budget of a run', help: MORE },
  max_steps: { title: 'It reached the most steps of a run', help: MORE },
  run_timeout: { title: 'It took longer than a run may', help: `Ask for less at a time. ${MORE}` },
  stalled: { title: 'Nothing happened for too long', help: `Say more exactly what is to be done. ${MORE}` },
  workspace_too_large: { title: 'Its workspace grew beyond what is allowed' },
  push_failed: {
    title: 'The branch could not be pushed',
    help: 'What it changed is in the diff. Check that this gateway may write to the repository.',
  },
  worker_lost: { title: 'Its worker went away in the middle', help: MORE },
  internal_error: { title: 'Something broke in Turnpike', help: 'The log of the gateway says what.' },
}

/** A code that a newer gateway sends is shown as it is. */
export function helpFor(code: string): FailureHelp {
  return isKnown(code) ? FAILURES[code] : { title: `It failed: ${code}` }
}

function isKnown(code: string): code is Code {
  return Object.hasOwn(FAILURES, code)
}
