/** Defaults and requirements of the tags of a team's requests, as keys have them. */
export const teamTags: readonly string[] = [
  'alter table team add column tags text',
  'alter table team add column require_tags text',
]
