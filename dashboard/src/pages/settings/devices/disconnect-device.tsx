import { useMe } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Time } from '../../../ui/values.tsx'
import { type Device, useDisconnect } from './queries.ts'

interface DisconnectDeviceProps {
  readonly device: Device | undefined
  readonly onClose: () => void
}

export function DisconnectDevice({ device, onClose }: DisconnectDeviceProps) {
  const disconnect = useDisconnect()
  return (
    <ConfirmDialog
      open={device !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Disconnect ${device?.client_name ?? ''}?`}
      confirmLabel="Disconnect"
      danger
      onConfirm={async () => {
        if (device === undefined) return
        await disconnect(device.id)
        toast(`${device.client_name} is disconnected`)
      }}
    >
      {device !== undefined && <Effect device={device} />}
    </ConfirmDialog>
  )
}

function Effect({ device }: { readonly device: Device }) {
  const { user } = useMe()
  const isOwn = device.user_id === user.id
  return (
    <>
      <p>
        {isOwn ? 'Your device' : `The device of ${device.user_email ?? device.user_id}`}
        {device.last_used_at === null ? ' was never used.' : ' was last used '}
        {device.last_used_at !== null && (
          <>
            <Time iso={device.last_used_at} relative />.
          </>
        )}
      </p>
      <p>It is refused within a second, and what it is doing now ends. To use it again, connect it anew.</p>
    </>
  )
}
