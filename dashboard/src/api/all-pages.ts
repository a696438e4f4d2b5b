interface Answer<Row> {
  readonly data: readonly Row[]
  readonly next_cursor: string | null
}

const MAX_PAGES = 20

/** The rows of all pages of a list, up to 20 pages. @param load Asks for the page after the cursor; undefined: for the first. */
export async function allPages<Row>(
  load: (cursor: string | undefined) => Promise<Answer<Row>>,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { data, next_cursor: next } = await load(cursor)
    rows.push(...data)
    if (next === null) break
    cursor = next
  }
  return rows
}
