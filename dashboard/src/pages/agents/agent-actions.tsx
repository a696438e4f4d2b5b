import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { CircleStop, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { visibleName } from '../../lib/visible-text.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import type { LiveAgent } from './queries.ts'
import { isEnded } from './work.ts'

export interface AgentActionsProps {
  readonly agent: LiveAgent
}

export function AgentActions(props: AgentActionsProps) {
  const mayWrite = useCan('agents:write')
  if (!mayWrite) return null
  return isEnded(props.agent.status) ? <DeleteAgent {...props} /> : <CancelAgent {...props} />
}

function CancelAgent({ agent }: AgentActionsProps) {
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const cancel = async (): Promise<void> => {
    await take(api.POST('/v1/agents/{id}/cancel', { params: { path: { id: agent.id } } }))
    toast(agent.status === 'queued' ? 'The agent is cancelled.' : 'The agent ends within 10 seconds.')
    void client.invalidateQueries({ queryKey: ['/v1/agents'] })
  }
  return (
    <>
      <Button icon={CircleStop} onClick={() => setOpen(true)}>
        Cancel run
      </Button>
      <ConfirmDialog
        open={isOpen}
        onOpenChange={setOpen}
        title={`Cancel ${visibleName(agent.name)}?`}
        confirmLabel="Cancel run"
        danger
        onConfirm={cancel}
      >
        <p>It ends within 10 seconds. What it did until then is kept but not pushed, and what it used is charged.</p>
      </ConfirmDialog>
    </>
  )
}

function DeleteAgent({ agent }: AgentActionsProps) {
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = async (): Promise<void> => {
    await take(api.DELETE('/v1/agents/{id}', { params: { path: { id: agent.id } } }))
    toast('The agent is deleted.')
    await navigate({ to: '/agents' })
    client.removeQueries({ queryKey: ['/v1/agents', agent.id] })
    void client.invalidateQueries({ queryKey: ['/v1/agents'] })
  }
  return (
    <>
      <Button icon={Trash2} onClick={() => setOpen(true)}>
        Delete
      </Button>
      <ConfirmDialog
        open={isOpen}
        onOpenChange={setOpen}
        title={`Delete ${visibleName(agent.name)}?`}
        confirmLabel="Delete agent"
        danger
        typeToConfirm="delete"
        onConfirm={remove}
      >
        <p>
          Its conversation, its diff and its runs are gone for good. What it was charged stays in your usage, and what
          it pushed stays in the repository.
        </p>
      </ConfirmDialog>
    </>
  )
}
