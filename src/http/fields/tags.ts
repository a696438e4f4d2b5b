/** Tags on keys and teams: defaults of their requests, and tags that these must have. */
import { Type } from 'typebox'
import { MAX_TAGS, splitTag, TAG_KEY_PATTERN, TAG_VALUE_PATTERN, tagTexts } from '../../domain/attribution.ts'
import type { Caller } from '../../domain/identity/caller.ts'

export interface TagSettings {
  /** Of requests that do not say otherwise. */
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** Keys of tags. */
  readonly requireTags?: readonly string[] | undefined
}

interface TagColumns {
  readonly tags: string | null
  readonly require_tags: string | null
}

/** Of bodies that create and change. */
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

/** Only what the body has. */
export function parseTagSettings({ tags, require_tags: requireTags }: TagBody): TagSettings {
  return { ...(tags !== undefined && { tags }), ...(requireTags !== undefined && { requireTags }) }
}

export function renderTagSettings({ tags, requireTags }: TagSettings) {
  return { tags: { ...tags }, require_tags: [...(requireTags ?? [])] }
}

/** Nothing is null. */
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
 * What applies to requests: defaults of the first replace those of what follows; all their requirements count.
 * @param chain A key, those above it, and its team.
 */
export function effectiveTags(chain: readonly TagColumns[]): {
  readonly tags: readonly string[] | undefined
  readonly requireTags: readonly string[] | undefined
} {
  const settings = chain.map(readTagColumns)
  const tags = Object.entries(
    Object.assign({}, ...settings.toReversed().map((each) => each.tags)) as TagSettings['tags'] & {},
  )
  const required = new Set(settings.flatMap(({ requireTags = [] }) => requireTags))
  return {
    tags: tags.length === 0 ? undefined : tags.map(([key, value]) => `${key}=${value}`),
    requireTags: required.size === 0 ? undefined : [...required],
  }
}

/** The tags of a caller whose requests are of a team: its own replace the team's defaults, and all requirements count. */
export function tagsInTeam(
  { tags: own = [], requireTags: ownRequired = [] }: Pick<Caller, 'tags' | 'requireTags'>,
  { tags: ofTeam = {}, requireTags: required = [] }: TagSettings,
): Pick<Caller, 'tags' | 'requireTags'> {
  const tags = new Map([...Object.entries(ofTeam), ...own.map(splitTag)])
  const all = new Set([...ownRequired, ...required])
  return { tags: tags.size === 0 ? undefined : tagTexts(tags), requireTags: all.size === 0 ? undefined : [...all] }
}
