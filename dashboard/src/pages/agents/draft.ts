/** A task as it is being written, and what the API is asked with it. Pure. */
import { useRef } from 'react'
import type { NewAgent } from './queries.ts'

export interface Draft {
  readonly name: string
  readonly repository: string
  /** Empty: the repository's default branch. */
  readonly branch: string
  readonly prompt: string
  /** Empty: the operator's choice. */
  readonly model: string
  /** ID. Empty: none, the account itself. */
  readonly team: string
  readonly maxCostUsd: number | undefined
  readonly maxSteps: number | undefined
}

export const EMPTY: Draft = {
  name: '',
  repository: '',
  branch: '',
  prompt: '',
  model: '',
  team: '',
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

/** What is still needed, in a sentence. */
export function missingOf({ name, repository, prompt }: Draft): string | undefined {
  if (name.trim() === '') return 'Enter a name.'
  if (repository === '') return 'Enter a repository.'
  if (repositoryProblem(repository) !== undefined) return 'Correct the repository.'
  return prompt.trim() === '' ? 'Describe the task.' : undefined
}

export function orderOf(draft: Draft): NewAgent {
  const { branch, model, team, maxCostUsd, maxSteps } = draft
  return {
    name: draft.name.trim(),
    repository: draft.repository,
    prompt: draft.prompt.trim(),
    ...(model !== '' && { model }),
    ...(branch.trim() !== '' && { branch: branch.trim() }),
    ...(team !== '' && { team_id: team }),
    ...(maxCostUsd !== undefined && { max_cost_usd: maxCostUsd }),
    ...(maxSteps !== undefined && { max_steps: maxSteps }),
  }
}

/**
 * @param origin Of the gateway, without a slash at its end.
 * @param indent Of the body's fields, each on a line of its own; 0: all on one.
 */
export function createCommand(origin: string, body: object, indent = 0): string {
  return [
    `curl ${origin}/v1/agents \\`,
    '  -H "Authorization: Bearer $TURNPIKE_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoted(JSON.stringify(body, null, indent))}`,
  ].join('\n')
}

/** In single quotes, in which a shell reads nothing but the quote that ends them. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Tasks to begin from: what an agent needs to be told so that its work can be checked. */
interface Template {
  readonly label: string
  readonly prompt: string
}

export const TEMPLATES: readonly Template[] = [
  {
    label: 'Fix a failing test',
    prompt:
      'Run the test suite and find the test that fails. Fix the cause, not the test, unless the test itself is wrong. Run the whole suite again and say what was broken and why.',
  },
  {
    label: 'Add tests',
    prompt:
      'Find the part of this repository that is tested least for how much depends on it. Add tests for its main behavior and its edge cases, in the style of the tests that are there. Do not change the code under test. Run the suite.',
  },
  {
    label: 'Update a dependency',
    prompt:
      'Update the dependency NAME to its latest version. Read its release notes for what changed, adapt the code, run the tests, and list what a reviewer should look at.',
  },
  {
    label: 'Explain the code',
    prompt:
      'Read this repository and write docs/overview.md: what it does, how it is laid out, how data flows through it, where to begin reading, and how to build and test it. Change nothing else.',
  },
]

/**
 * An `Idempotency-Key` for what is about to be sent: the same one for the same body, so that a second press, or another try
 * after an answer that was lost, does nothing twice.
 */
export function useIdempotencyKey(): { readonly keyFor: (body: object) => string; readonly forget: () => void } {
  const last = useRef<{ readonly text: string; readonly key: string }>(undefined)
  return {
    keyFor(body) {
      const text = JSON.stringify(body)
      if (last.current?.text !== text) last.current = { text, key: randomKey() }
      return last.current.key
    },
    /** It is done: the same once more would be meant. */
    forget() {
      last.current = undefined
    },
  }
}

/** Also where the page is not from a secure address, which `crypto.randomUUID` asks for. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
