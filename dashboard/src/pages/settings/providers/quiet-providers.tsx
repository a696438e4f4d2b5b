import { formatCount } from '../../../lib/format.ts'
import { Section } from '../../../ui/page.tsx'
import { HealthStatus } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { ProviderTest } from './provider-test.tsx'
import type { Provider } from './queries.ts'

/** Those of which nothing is known yet, in few lines. */
export function QuietProviders({ providers }: { readonly providers: readonly Provider[] }) {
  return (
    <Section title="Not called yet" description="Configured, and not called since this process started.">
      <Table label="Providers that were not called" columns={COLUMNS} rows={providers} rowKey={({ id }) => id} />
    </Section>
  )
}

const COLUMNS: readonly Column<Provider>[] = [
  { id: 'name', header: 'Provider', primary: true, cell: ({ name }) => <span className="font-medium">{name}</span> },
  {
    id: 'address',
    header: 'Address',
    cell: ({ base_url: address }) => <span className="font-mono text-sm break-all">{address}</span>,
  },
  {
    id: 'credentials',
    header: 'Credentials',
    align: 'right',
    cell: ({ credentials }) => formatCount(credentials.length),
  },
  {
    id: 'limit',
    header: 'Most at once',
    align: 'right',
    cell: ({ max_in_flight: most }) => (most === null ? 'No limit' : formatCount(most)),
  },
  { id: 'state', header: 'State', cell: () => <HealthStatus status="unknown" /> },
  { id: 'test', header: 'Test', cell: ({ name }) => <ProviderTest name={name} /> },
]
