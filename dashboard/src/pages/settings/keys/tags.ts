/** Tags of keys and teams as they are typed, and what is sent of them. */
export interface TagDraft {
  /** `key=value` a line. */
  readonly tags: string
  /** Keys of tags, with spaces or commas between them. */
  readonly requiredTags: string
}

export const NO_TAGS: TagDraft = { tags: '', requiredTags: '' }

export interface TagSettings {
  readonly tags: Readonly<Record<string, string>>
  readonly require_tags: readonly string[]
}

export function tagDraftOf({ tags, require_tags: required }: TagSettings): TagDraft {
  return { tags: tagTexts(tags).join('\n'), requiredTags: required.join(', ') }
}

/** `key=value` each. */
export function tagTexts(tags: TagSettings['tags']): readonly string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`)
}

const TAG_KEY = /^[a-z0-9_.:-]{1,32}$/
const TAG = /^[a-z0-9_.:-]{1,32}=[a-z0-9_.:-]{1,64}$/
const MAX_TAGS = 10

export interface TagProblems {
  readonly tags: string | undefined
  readonly requiredTags: string | undefined
}

export function tagProblemsOf({ tags, requiredTags }: TagDraft): TagProblems {
  return {
    tags: tagProblem(linesOf(tags), TAG, 'is not key=value'),
    requiredTags: tagProblem(linesOf(requiredTags), TAG_KEY, 'is not the key of a tag'),
  }
}

function tagProblem(texts: readonly string[], pattern: RegExp, what: string): string | undefined {
  const wrong = texts.find((text) => !pattern.test(text))
  if (wrong !== undefined) return `“${wrong}” ${what}, of lower-case letters, digits and _ . : -`
  return texts.length > MAX_TAGS ? `At most ${MAX_TAGS}.` : undefined
}

export interface SentTags {
  tags: Record<string, string>
  require_tags: string[]
}

export function sentTagsOf({ tags, requiredTags }: TagDraft): SentTags {
  const pairs = linesOf(tags).map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)])
  return { tags: Object.fromEntries(pairs), require_tags: linesOf(requiredTags) }
}

/** Texts with lines, spaces or commas between them. */
export function linesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((line) => line !== '')
}
