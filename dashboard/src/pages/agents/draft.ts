/** A task as it is being written, and what the API is asked with it. Pure. */
import type { NewAgent } from './queries.ts'

export interface Draft {
  readonly name: string
  readonly repository: string
  /** Empty: the repository's default branch. */
  readonly branch: string
  readonly prompt: string
  /** Empty: the operator's choice. */
  readonly model: string
  readonly maxCostUsd: number | undefined
  readonly maxSteps: number | undefined
}

export const EMPTY: Draft = {
  name: '',
  repository: '',
  branch: '',
  prompt: '',
  model: '',
  maxCostUsd: undefined,
  maxSteps: undefined,
}

export const MAX_NAME_LENGTH = 100
export const MAX_PROMPT_LENGTH = 100_000
export const MAX_COST_USD = 1_000_000
export const MAX_STEPS = 500
export const USUAL_STEPS = 100

const PART = '[A-Za-z0-9_](?:[A-Za-z0-9_-]|\\.(?!\\.)){0,99}'
const REPOSITORY = new RegExp(`^${PART}/${PART}$`)
const ENDINGS = /\.(?:git|lock)?(?:\/|$)/i

/** Why it is no `organisation/repository`; undefined where it is, or nothing is typed yet. */
export function repositoryProblem(text: string): string | undefined {
  if (text === '' || (REPOSITORY.test(text) && !ENDINGS.test(text))) return undefined
  return 'A repository is organisation/repository: letters, digits, “-”, “_” and single dots, without “.git”.'
}

/** Of an address that was pasted (`https://github.com/example/website.git`, `git@…:example/website`), the repository's name. */
export function repositoryIn(text: string): string {
  const [, path] = /^(?:https?:\/\/[^/\s]+\/|(?:ssh:\/\/)?git@[^:/\s]+[:/])([^/\s]+\/[^/\s?#]+)/.exec(text.trim()) ?? []
  return (path ?? text.trim()).replace(path === undefined ? /$^/ : /\.git$/, '')
}

export function isReady({ name, repository, prompt }: Draft): boolean {
  return name.trim() !== '' && prompt.trim() !== '' && repository !== '' && repositoryProblem(repository) === undefined
}

export function orderOf(draft: Draft): NewAgent {
  const { branch, model, maxCostUsd, maxSteps } = draft
  return {
    name: draft.name.trim(),
    repository: draft.repository,
    prompt: draft.prompt.trim(),
    ...(model !== '' && { model }),
    ...(branch.trim() !== '' && { branch: branch.trim() }),
    ...(maxCostUsd !== undefined && { max_cost_usd: maxCostUsd }),
    ...(maxSteps !== undefined && { max_steps: maxSteps }),
  }
}
