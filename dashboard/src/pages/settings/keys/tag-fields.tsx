import { TextArea } from '../../../ui/form/field.tsx'
import { type TagDraft, tagProblemsOf } from './tags.ts'

interface TagFieldsProps {
  readonly draft: TagDraft
  readonly set: (changes: Partial<TagDraft>) => void
}

/** Of a key or a team: its default tags, and those that its requests must have. */
export function TagFields({ draft, set }: TagFieldsProps) {
  const problems = tagProblemsOf(draft)
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <TextArea
        label="Tags"
        name="tags"
        description="Of its requests, unless they say otherwise. One key=value per line."
        placeholder={'customer=northwind\nenv=prod'}
        rows={3}
        mono
        spellCheck={false}
        value={draft.tags}
        onChange={(tags) => set({ tags })}
        error={problems.tags}
      />
      <TextArea
        label="Required tags"
        name="require_tags"
        description="Requests without these keys are rejected with 400."
        placeholder="customer"
        rows={3}
        mono
        spellCheck={false}
        value={draft.requiredTags}
        onChange={(requiredTags) => set({ requiredTags })}
        error={problems.requiredTags}
      />
    </div>
  )
}
