import { MonitorSmartphone } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { Segmented } from '../../../ui/choices.tsx'
import { CodeBlock } from '../../../ui/code.tsx'
import { Card, Page, Section } from '../../../ui/page.tsx'
import { LoadMore } from '../../../ui/paged.tsx'
import { Empty, Forbidden, Loaded } from '../../../ui/states.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { readDevicesSearch } from '../search.ts'
import { DevicesTable } from './devices-table.tsx'
import { DisconnectDevice } from './disconnect-device.tsx'
import { type Device, useDevices } from './queries.ts'

const TITLE = 'Connected devices'

export function DevicesPage() {
  if (useCan('devices')) return <Devices />
  return (
    <Page title={TITLE}>
      <Forbidden what="connected devices" right="devices" />
    </Page>
  )
}

function Devices() {
  const { whose, state } = useSearchOf(readDevicesSearch)
  const change = useSearchChange()
  const maySeeAll = useCan('members')
  const ofAll = maySeeAll && whose === 'all'
  const pages = useDevices(ofAll)
  const [disconnecting, setDisconnecting] = useState<Device>()
  return (
    <Page
      title={TITLE}
      description="IDEs and command lines that got in with a code, without an API key. Each can be disconnected by itself."
    >
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap gap-2">
          {maySeeAll && (
            <Segmented<'own' | 'all'>
              label="Whose devices"
              value={ofAll ? 'all' : 'own'}
              onChange={(next) => change({ whose: next === 'all' ? 'all' : undefined })}
              options={[
                { value: 'own', label: 'Mine' },
                { value: 'all', label: 'Everybody’s' },
              ]}
            />
          )}
          <Segmented<'connected' | 'all'>
            label="Which devices"
            value={state ?? 'connected'}
            onChange={(next) => change({ state: next === 'all' ? 'all' : undefined })}
            options={[
              { value: 'connected', label: 'Connected' },
              { value: 'all', label: 'All' },
            ]}
          />
        </div>
        <Loaded query={pages} what="connected devices">
          {(rows) => (
            <div>
              <DevicesTable
                rows={rows.filter(({ revoked_at }) => state === 'all' || revoked_at === null)}
                withPeople={ofAll}
                withState={state === 'all'}
                onDisconnect={setDisconnecting}
                empty={<NoDevices />}
              />
              <LoadMore pages={pages} noun="device" />
            </div>
          )}
        </Loaded>
      </div>
      <HowToConnect />
      <DisconnectDevice device={disconnecting} onClose={() => setDisconnecting(undefined)} />
    </Page>
  )
}

function NoDevices() {
  return (
    <Empty icon={MonitorSmartphone} title="No device is connected">
      Connect one as told below; it is here as soon as you approve it.
    </Empty>
  )
}

function HowToConnect() {
  return (
    <Section title="Connect a device">
      <Card className="flex flex-col gap-4">
        <p className="max-w-prose text-soft">
          Run this where you work. It shows a code; compare it in the browser and approve. An editor that knows Turnpike
          does the same from its own menu.
        </p>
        <CodeBlock
          label="Command that connects a terminal"
          language="Shell"
          code={`turnpike login --url ${location.origin}`}
        />
        <p className="text-soft">
          A device shows you a code already?{' '}
          <a href="/activate" className="font-medium text-accent underline underline-offset-2">
            Enter the code
          </a>
        </p>
      </Card>
    </Section>
  )
}
