import { plural } from '../../../lib/format.ts'
import { relativeTime } from '../../../lib/time.ts'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { type Key, useKey, useKeyActions } from './queries.ts'

interface RevokeKeyProps {
  /** Undefined: nothing is asked. */
  readonly target: Key | undefined
  readonly onClose: () => void
}

/** Says who is going to notice, before it is done. */
export function RevokeKey({ target, onClose }: RevokeKeyProps) {
  const { revoke } = useKeyActions()
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Revoke “${target?.name ?? ''}”?`}
      confirmLabel="Revoke key"
      danger
      onConfirm={async () => {
        if (target === undefined) return
        await revoke(target.id)
        toast(`“${target.name}” is revoked`)
      }}
    >
      {target !== undefined && <Effect target={target} />}
    </ConfirmDialog>
  )
}

function Effect({ target }: { readonly target: Key }) {
  const { data } = useKey(target.id)
  const now = useNow()
  return (
    <>
      <p className="min-h-10">
        {data === undefined ? usedAt(target, now) : usedBy(data.requests_last_24h, target, now)}
      </p>
      <p>This cannot be undone. A program that needs a key then has to get another one.</p>
    </>
  )
}

function usedBy(count: number, target: Key, now: number): string {
  if (count === 0) return usedAt(target, now)
  return `${plural(count, 'request')} in the last 24 h used it. Whatever sends them will fail within a second.`
}

function usedAt({ last_used_at: at }: Key, now: number): string {
  if (at === null) return 'It was never used. Whatever has it will be refused within a second.'
  return `It was last used ${relativeTime(at, now)}. Whatever has it will be refused within a second.`
}
