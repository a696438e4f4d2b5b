import { useState } from 'react'
import { useMe } from '../../../api/me.ts'
import { Button } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { RadioGroupField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Time } from '../../../ui/values.tsx'
import { type CreatedInvitation, useMemberActions } from './queries.ts'
import { nameOfRole, ROLE_SUMMARIES, type Role, rolesToGive } from './rights.ts'

interface InviteDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function InviteDialog({ open, onClose }: InviteDialogProps) {
  const [created, setCreated] = useState<CreatedInvitation>()
  const close = () => {
    setCreated(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) close()
      }}
      title={created === undefined ? 'Invite somebody' : 'The invitation is ready'}
      description={
        created === undefined
          ? 'You get a link to send. This gateway sends no mail.'
          : 'Send this link. It is shown this once, and whoever has it can use it.'
      }
    >
      {created === undefined ? (
        <Invite onCreated={setCreated} onCancel={close} />
      ) : (
        <Link created={created} onDone={close} />
      )}
    </Dialog>
  )
}

interface InviteProps {
  readonly onCreated: (created: CreatedInvitation) => void
  readonly onCancel: () => void
}

function Invite({ onCreated, onCancel }: InviteProps) {
  const { role: own } = useMe()
  const { invite } = useMemberActions()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  return (
    <Form
      submitLabel="Create link"
      onCancel={onCancel}
      onSubmit={async () => onCreated(await invite(role, email.trim()))}
    >
      <TextField
        label="Email"
        name="email"
        description="A note for you, so that you know whom the link is for. Optional."
        placeholder="ada@example.com"
        inputMode="email"
        autoComplete="off"
        spellCheck={false}
        value={email}
        onChange={setEmail}
        autoFocus
      />
      <RadioGroupField
        label="Role"
        name="role"
        value={role}
        onChange={setRole}
        options={rolesToGive(own).map((each) => ({
          value: each,
          label: nameOfRole(each),
          description: ROLE_SUMMARIES[each],
        }))}
      />
    </Form>
  )
}

interface LinkProps {
  readonly created: CreatedInvitation
  readonly onDone: () => void
}

function Link({ created, onDone }: LinkProps) {
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-sunken py-2 pr-2 pl-3">
        <code data-secret className="min-w-0 flex-1 font-mono text-sm break-all text-ink">
          {created.url}
        </code>
        <CopyButton text={created.url} label="Copy link" variant="primary" />
      </div>
      <p className="text-soft">
        For {created.email ?? 'whoever has it'}, as {nameOfRole(created.role).toLowerCase()}. It expires{' '}
        <Time iso={created.expires_at} relative />.
      </p>
      <div className="flex justify-end">
        <Button variant="primary" onClick={onDone}>
          Done
        </Button>
      </div>
    </div>
  )
}
