/** A team as it is being filled in, and what is sent of it. */
import { formatCount, plural } from '../../../lib/format.ts'
import { readNumber, textOfNumber } from '../../../ui/form/number-text.ts'
import { linesOf, NO_TAGS, sentTagsOf, type TagDraft, tagDraftOf, tagProblemsOf } from '../keys/tags.ts'
import type { Endpoint, Team, TeamBody, TeamRole } from './queries.ts'

export interface TeamDraft extends TagDraft {
  readonly name: string
  readonly allModels: boolean
  readonly models: readonly string[]
  readonly allEndpoints: boolean
  readonly endpoints: readonly Endpoint[]
  /** As typed. Empty: no limit. */
  readonly requestsPerMinute: string
  /** Of the data policy; none of them: the team has none. */
  readonly noTraining: boolean
  readonly noRetention: boolean
  /** As typed. Empty: all. */
  readonly regions: string
}

export const NEW_TEAM: TeamDraft = {
  name: '',
  allModels: true,
  models: [],
  allEndpoints: true,
  endpoints: [],
  requestsPerMinute: '',
  noTraining: false,
  noRetention: false,
  regions: '',
  ...NO_TAGS,
}

export const ENDPOINT_NAMES: Readonly<Record<Endpoint, string>> = {
  chat: 'Chat completions',
  responses: 'Responses',
  messages: 'Messages',
  completions: 'Completions',
  embeddings: 'Embeddings',
  rerank: 'Rerank',
  agents: 'Agents',
}

export const TEAM_ROLES = ['admin', 'member', 'viewer'] as const satisfies readonly TeamRole[]

export const ROLE_NAMES: Readonly<Record<TeamRole, string>> = { admin: 'Admin', member: 'Member', viewer: 'Viewer' }

export const ROLE_TEXTS: Readonly<Record<TeamRole, string>> = {
  admin: 'Uses the team, changes its keys, and decides who is in it.',
  member: 'Uses the team, and creates keys of it.',
  viewer: 'Sees the team, its members and its keys.',
}

export function draftOf(team: Team): TeamDraft {
  return {
    name: team.name,
    allModels: team.models.length === 0,
    models: team.models,
    allEndpoints: team.endpoints.length === 0,
    endpoints: team.endpoints,
    requestsPerMinute: textOfNumber(team.requests_per_minute ?? undefined),
    noTraining: team.data_policy?.data_collection === 'deny',
    noRetention: team.data_policy?.zdr === true,
    regions: team.data_policy?.regions?.join(', ') ?? '',
    ...tagDraftOf(team),
  }
}

const RATE = { min: 1, max: 1_000_000_000, whole: true }

export function rateProblem({ requestsPerMinute }: TeamDraft): string | undefined {
  return readNumber(requestsPerMinute, RATE).problem
}

/** What is still needed; undefined: it can be sent. */
export function missingOf(draft: TeamDraft): string | undefined {
  if (draft.name.trim() === '') return 'Enter a name.'
  if (!draft.allModels && draft.models.length === 0) return 'Choose at least one model.'
  if (!draft.allEndpoints && draft.endpoints.length === 0) return 'Choose at least one endpoint.'
  const { tags, requiredTags } = tagProblemsOf(draft)
  return rateProblem(draft) ?? tags ?? requiredTags
}

/** Empty lists: all, those that come later included. */
export function bodyOf(draft: TeamDraft): TeamBody {
  return {
    name: draft.name.trim(),
    models: draft.allModels ? [] : [...draft.models],
    endpoints: draft.allEndpoints ? [] : [...draft.endpoints],
    requests_per_minute: readNumber(draft.requestsPerMinute, RATE).value ?? null,
    data_policy: policyOf(draft),
    ...sentTagsOf(draft),
  }
}

function policyOf({ noTraining, noRetention, regions }: TeamDraft): NonNullable<TeamBody['data_policy']> | null {
  const names = linesOf(regions)
  if (!noTraining && !noRetention && names.length === 0) return null
  return {
    ...(noTraining && { data_collection: 'deny' }),
    ...(noRetention && { zdr: true }),
    ...(names.length > 0 && { regions: names }),
  }
}

/** `no training, zero retention, in eu, ch`; undefined: no demands. */
export function policyTextOf({ data_policy: policy }: Pick<Team, 'data_policy'>): string | undefined {
  const parts = [
    policy?.data_collection === 'deny' && 'no training on data',
    policy?.zdr === true && 'zero data retention',
    policy?.regions !== undefined && `in ${policy.regions.join(' or ')}`,
  ].filter((part) => part !== false)
  const text = parts.join(', ')
  return text === '' ? undefined : `${text[0]?.toUpperCase()}${text.slice(1)}`
}

type Limited = Pick<Team, 'models' | 'endpoints' | 'requests_per_minute'>

/** `2 models · Chat completions · 600/min`; undefined: nothing is limited. */
export function limitsText({ models, endpoints, requests_per_minute: rate }: Limited): string | undefined {
  const parts = [
    ...(models.length === 0 ? [] : [models.length === 1 ? models.join() : plural(models.length, 'model')]),
    ...(endpoints.length === 0 ? [] : [endpoints.map((each) => ENDPOINT_NAMES[each]).join(', ')]),
    ...(rate === null ? [] : [`${formatCount(rate)}/min`]),
  ]
  return parts.length === 0 ? undefined : parts.join(' · ')
}
