/** Tags on keys and teams: defaults of their requests, and tags that these must have. */
import { Type } from 'typebox'
import { MAX_TAGS, splitTag, TAG_KEY_PATTERN, TAG_VALUE_PATTERN, tagTexts } from '../../domain/attribution.ts'
import type { Caller } from '../../domain/identity/caller.ts'

export interface TagSettings {
  /** The defaults for requests that do not set them. */
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** The keys of the tags that requests must have. */
  readonly requireTags?: readonly string[] | undefined
}

interface TagColumns {
  readonly tags: string | null
  readonly require_tags: string | null
}

/** The fields of bodies that create or change a key or a team. */
export const TAG_FIELDS = {
  tags: Type.Optional(
    Type.Record(Type.String({ pattern: TAG_KEY_PATTERN }), Type.String({ pattern: TAG_VALUE_PATTERN }), {
      maxProperties: MAX_TAGS,
      additionalProperties: false,
      description: 'Tags of its requests, unless they say otherwise. At most 10; see docs/chargeback.md.',
      examples: [{ team: 'search' }],
    }),
  ),
  require_tags: Type.Optional(
    Type.Array(Type.String({ pattern: TAG_KEY_PATTERN }), {
      maxItems: MAX_TAGS,
      uniqueItems: true,
      description: 'Keys of tags that its requests must have. Others get 400.',
      examples: [['customer']],
    }),
  ),
}

export const TAG_VIEWS = {
  tags: Type.Record(Type.String(), Type.String(), { description: 'Tags of its requests, unless they say otherwise.' }),
  require_tags: Type.Array(Type.String(), { description: 'Keys of tags that its requests must have.' }),
}

interface TagBody {
  readonly tags?: Record<string, string>
  readonly require_tags?: string[]
}

/** Omits what the body omits. */
export function parseTagSettings({ tags, require_tags: requireTags }: TagBody): TagSettings {
  return { ...(tags !== undefined && { tags }), ...(requireTags !== undefined && { requireTags }) }
}

export function renderTagSettings({ tags, requireTags }: TagSettings) {
  return { tags: { ...tags }, require_tags: [...(requireTags ?? [])] }
}

/** Renders the columns: null if there are none. */
export function tagColumns({ tags = {}, requireTags = [] }: TagSettings): TagColumns {
  return {
    tags: Object.keys(tags).length === 0 ? null : JSON.stringify(tags),
    require_tags: requireTags.length === 0 ? null : JSON.stringify(requireTags),
  }
}

export function readTagColumns({ tags, require_tags: requireTags }: TagColumns): TagSettings {
  return {
    tags: tags === null ? undefined : (JSON.parse(tags) as Record<string, string>),
    requireTags: requireTags === null ? undefined : (JSON.parse(requireTags) as string[]),
  }
}

/**
 * Merges tags: the defaults of earlier links replace those of later ones, and the requirements of all apply.
 * @param chain A key, those above it, and its team.
 */
export function effectiveTags(chain: readonly TagColumns[]): CallerTags {
  const settings = chain.map(readTagColumns)
  const tags = settings.toReversed().flatMap(({ tags = {} }) => Object.entries(tags))
  return callerTags(
    tags,
    settings.flatMap(({ requireTags = [] }) => requireTags),
  )
}

/** Merges tags for a request of a team: the caller's own replace the team's defaults, and the requirements of both apply. */
export function tagsInTeam(
  { tags: own = [], requireTags: ownRequired = [] }: CallerTags,
  { tags: ofTeam = {}, requireTags: required = [] }: TagSettings,
): CallerTags {
  return callerTags([...Object.entries(ofTeam), ...own.map(splitTag)], [...ownRequired, ...required])
}

type CallerTags = Pick<Caller, 'tags' | 'requireTags'>

/** @param tags Later ones replace earlier ones with the same key. */
function callerTags(tags: readonly (readonly [key: string, value: string])[], required: readonly string[]): CallerTags {
  return {
    tags: tags.length === 0 ? undefined : tagTexts(new Map(tags)),
    requireTags: required.length === 0 ? undefined : [...new Set(required)],
  }
}
