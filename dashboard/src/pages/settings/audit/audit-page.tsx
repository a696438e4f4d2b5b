import { ScrollText } from 'lucide-react'
import { useCan } from '../../../api/me.ts'
import { resolvePeriod } from '../../../lib/period.ts'
import { Button } from '../../../ui/button.tsx'
import { Combobox } from '../../../ui/form/combobox.tsx'
import { Page } from '../../../ui/page.tsx'
import { PeriodPicker } from '../../../ui/period-picker.tsx'
import { Empty, Forbidden, SkeletonRows } from '../../../ui/states.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { useNow, useTimeZone } from '../../../ui/time-zone.ts'
import { useSearchChange, useSearchOf } from '../address.ts'
import { type AuditSearch, readAuditSearch } from '../search.ts'
import { AuditTable, EntrySheet } from './entry-sheet.tsx'
import { type NamedOne, useAudit, useNames } from './queries.ts'
import { actionName, KNOWN_ACTIONS } from './sentence.ts'

const TITLE = 'Audit log'
const FALLBACK = '30d'

export function AuditPage() {
  if (useCan('audit')) return <Audit />
  return (
    <Page title={TITLE}>
      <Forbidden what="the audit log" right="audit" />
    </Page>
  )
}

function Audit() {
  const search = useSearchOf(readAuditSearch)
  const change = useSearchChange()
  const { start, end } = resolvePeriod(search, useNow(), FALLBACK, useTimeZone())
  const pages = useAudit({ action: search.action, actor: search.actor, start, end })
  const { all, nameOf } = useNames()
  const isFiltered = search.action !== undefined || search.actor !== undefined || search.range !== undefined
  const clear = () => change({ action: undefined, actor: undefined, range: undefined, from: undefined, to: undefined })
  return (
    <Page
      title={TITLE}
      description="Who did what in this account, from where, and with which result. Entries cannot be changed and are kept for at least 400 days."
      wide
    >
      <div className="flex flex-col gap-4">
        <Filters search={search} people={all} />
        <PagedRows
          pages={pages}
          what="the audit log"
          noun="entry"
          skeleton={<SkeletonRows rows={10} />}
          empty={<NoEntries isFiltered={isFiltered} onClear={clear} />}
        >
          {(rows) => <AuditTable rows={rows} nameOf={nameOf} />}
        </PagedRows>
      </div>
      <EntrySheet
        id={search.entry}
        at={search.at}
        listed={pages.rows.find(({ id }) => id === search.entry)}
        nameOf={nameOf}
        onClose={() => change({ entry: undefined, at: undefined })}
      />
    </Page>
  )
}

interface FiltersProps {
  readonly search: AuditSearch
  readonly people: readonly NamedOne[]
}

function Filters({ search, people }: FiltersProps) {
  const change = useSearchChange()
  return (
    <div className="flex flex-wrap items-end gap-x-4 gap-y-3">
      <Combobox
        className="w-full sm:w-60"
        label="Action"
        placeholder="Any"
        value={search.action ?? ''}
        onChange={(action) => change({ action: action === '' ? undefined : action })}
        options={KNOWN_ACTIONS.map((action) => ({ value: action, label: actionName(action) }))}
      />
      <Combobox
        className="w-full sm:w-60"
        label="By"
        placeholder="Anyone"
        value={search.actor ?? ''}
        onChange={(actor) => change({ actor: actor === '' ? undefined : actor })}
        options={people.map(({ id, name, kind }) => ({ value: id, label: name, hint: kind }))}
      />
      <PeriodPicker
        search={search}
        onChange={({ range, from, to }) => change({ range, from, to })}
        ranges={['today', '7d', '30d', 'custom']}
        fallback={FALLBACK}
        zone={useTimeZone()}
      />
    </div>
  )
}

interface NoEntriesProps {
  readonly isFiltered: boolean
  readonly onClear: () => void
}

function NoEntries({ isFiltered, onClear }: NoEntriesProps) {
  if (!isFiltered) {
    return (
      <Empty icon={ScrollText} title="No entries in the last 30 days">
        Sign-ins and changes of keys, members, devices and webhooks appear here.
      </Empty>
    )
  }
  return (
    <Empty icon={ScrollText} title="No matching entries" action={<Button onClick={onClear}>Clear filters</Button>} />
  )
}
