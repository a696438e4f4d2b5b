import { useQuery } from '@tanstack/react-query'
import { useMe } from '../../api/me.ts'
import { SavedViews } from '../../ui/saved-views.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { usePeriod } from '../../ui/use-period.ts'
import { useUsageSearch } from './address.ts'
import { optionsQuery } from './queries.ts'
import { FALLBACK_RANGE, readUsageView } from './search.ts'
import { viewWords } from './view-words.ts'

export function UsageViews() {
  const { account } = useMe()
  const search = useUsageSearch()
  const { period } = usePeriod(search, FALLBACK_RANGE)
  // the filters ask for the keys; for a name alone it is not worth asking
  const keys = useQuery({ ...optionsQuery(period), enabled: false }).data?.report.groups ?? []
  return (
    <SavedViews
      accountId={account.id}
      page="usage"
      read={readUsageView}
      search={search}
      words={viewWords(search, keys, useNow())}
    />
  )
}
