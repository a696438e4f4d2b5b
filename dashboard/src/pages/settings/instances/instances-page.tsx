/** The processes that serve this installation, and whether they can run agents safely. */
import { Server } from 'lucide-react'
import { useCan } from '../../../api/me.ts'
import { Notice } from '../../../ui/notice.tsx'
import { Page, Section } from '../../../ui/page.tsx'
import { LoadMore } from '../../../ui/paged.tsx'
import { Empty, Forbidden, Loaded } from '../../../ui/states.tsx'
import { AgentsSandbox } from './agents-sandbox.tsx'
import { versionsText } from './instance-state.ts'
import { InstancesTable } from './instances-table.tsx'
import { type Instance, useInstances } from './queries.ts'

const TITLE = 'Instances'

export function InstancesPage() {
  if (useCan('operator')) return <Instances />
  return (
    <Page title={TITLE}>
      <Forbidden what="instances" right="operator" />
    </Page>
  )
}

function Instances() {
  const pages = useInstances()
  return (
    <Page title={TITLE} description="Processes that run and share this database. Renewed every 5 s." wide>
      <Loaded query={pages} what="instances">
        {(instances) => (
          <div className="flex flex-col gap-4">
            <VersionNotice instances={instances} />
            <InstancesTable
              instances={instances}
              empty={<Empty icon={Server} title="No process has reported yet" command="turnpike status" />}
            />
            <LoadMore pages={pages} noun="instance" />
          </div>
        )}
      </Loaded>
      <Section title="Agents" description="As the process that answers finds its own machine.">
        <AgentsSandbox />
      </Section>
    </Page>
  )
}

function VersionNotice({ instances }: { readonly instances: readonly Instance[] }) {
  const versions = versionsText(instances)
  if (versions === undefined) return null
  return (
    <Notice tone="warn" title="Not all processes run the same version">
      {versions}. That is as it should be during an upgrade; finish it by restarting the older ones.
    </Notice>
  )
}
