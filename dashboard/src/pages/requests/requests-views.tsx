import { useMe } from '../../api/me.ts'
import { SavedViews } from '../../ui/saved-views.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { useRequestsSearch } from './address.ts'
import type { Completion } from './queries.ts'
import { readRequestsView } from './search.ts'
import { viewWords } from './words.ts'

interface RequestsViewsProps {
  /** Keys are called in the proposed name what they are called in the list. */
  readonly rows: readonly Completion[]
}

export function RequestsViews({ rows }: RequestsViewsProps) {
  const { account } = useMe()
  const search = useRequestsSearch()
  return (
    <SavedViews
      accountId={account.id}
      page="requests"
      read={readRequestsView}
      search={search}
      words={viewWords(search, rows, useNow())}
    />
  )
}
