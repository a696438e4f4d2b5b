import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded } from '../../ui/states.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { type Webhook, webhooksQuery } from './queries.ts'
import { StandingNotice } from './standing-notice.tsx'
import { WebhooksTable } from './webhooks-table.tsx'

const DESCRIPTION = 'What happens in this account, posted to addresses of yours and signed.'

export function WebhooksPage() {
  if (useCan('webhooks')) return <Webhooks />
  return (
    <Page title="Webhooks">
      <Forbidden what="webhooks" right="webhooks" />
    </Page>
  )
}

function Webhooks() {
  const query = useQuery(webhooksQuery)
  const { create } = useSearch({ strict: false })
  const navigate = useNavigate({ from: '/webhooks' })
  const setOpen = (isOpen: boolean) => void navigate({ search: () => (isOpen ? { create: '1' } : {}) })
  const open = () => setOpen(true)
  const hasSome = query.data !== undefined && query.data.length > 0
  return (
    <Page
      title="Webhooks"
      description={DESCRIPTION}
      actions={
        hasSome && (
          <Button variant="primary" icon={Plus} onClick={open}>
            Add webhook
          </Button>
        )
      }
    >
      <Loaded query={query} what="webhooks">
        {(webhooks) => (webhooks.length === 0 ? <NoWebhooks onAdd={open} /> : <List webhooks={webhooks} />)}
      </Loaded>
      <CreateDialog open={create !== undefined} onClose={() => setOpen(false)} />
    </Page>
  )
}

function List({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const stopped = webhooks.filter(({ disabled_reason: reason }) => reason === 'failing' || reason === 'gone')
  return (
    <div className="flex flex-col gap-4">
      {stopped.map((webhook) => (
        <StandingNotice key={webhook.id} webhook={webhook} named />
      ))}
      <WebhooksTable webhooks={webhooks} />
    </div>
  )
}

function NoWebhooks({ onAdd }: { readonly onAdd: () => void }) {
  return (
    <Empty
      icon={WebhookIcon}
      title="No webhooks yet"
      action={
        <Button variant="primary" icon={Plus} onClick={onAdd}>
          Add webhook
        </Button>
      }
      command="turnpike webhooks listen --forward localhost:8000"
    >
      Your endpoint is told when agents end or credit runs out. On your own machine, a command receives it all.
    </Empty>
  )
}
