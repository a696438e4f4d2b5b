/** Null for one call that answered, and for the rows of before. No condition: it would read every row that is there. */
export const attempts: readonly string[] = ['alter table completion add column attempt_log text']
