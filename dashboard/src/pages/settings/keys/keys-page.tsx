import { KeyRound, Plus } from 'lucide-react'
import { useRef, useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { Button } from '../../../ui/button.tsx'
import { Tabs } from '../../../ui/choices.tsx'
import { Page } from '../../../ui/page.tsx'
import { LoadMore } from '../../../ui/paged.tsx'
import { Empty, Forbidden, Loaded } from '../../../ui/states.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { KEY_TABS, type KeyTab, readKeysSearch } from '../search.ts'
import { CreateKey } from './create-key.tsx'
import { KeySheet } from './key-sheet.tsx'
import { KeysTable } from './keys-table.tsx'
import { type CreatedKey, type Key, useKeys } from './queries.ts'
import { RevokeKey } from './revoke-key.tsx'
import { SecretDialog } from './secret-dialog.tsx'

const TITLE = 'API keys'
const TAB_NAMES: Readonly<Record<KeyTab, string>> = {
  active: 'Active',
  expired: 'Expired',
  revoked: 'Revoked',
  all: 'All',
}

export function KeysPage() {
  if (useCan('keys')) return <Keys />
  return (
    <Page title={TITLE}>
      <Forbidden what="API keys" right="keys" />
    </Page>
  )
}

function Keys() {
  const { status = 'active', key, create } = useSearchOf(readKeysSearch)
  const change = useSearchChange()
  const [created, setCreated] = useState<CreatedKey>()
  const [revoking, setRevoking] = useState<Key>()
  const pages = useKeys(status)
  const createButton = useRef<HTMLButtonElement>(null)
  const begin = () => change({ create: '1' })
  // The dialog before it, to which the focus would return, is gone.
  const finish = () => {
    setCreated(undefined)
    requestAnimationFrame(() => createButton.current?.focus())
  }
  return (
    <Page
      title={TITLE}
      description="What programs send to this gateway instead of a password. Each can be limited by itself."
      actions={
        <Button ref={createButton} variant="primary" icon={Plus} onClick={begin}>
          Create key
        </Button>
      }
      wide
    >
      <Tabs
        label="Status"
        value={status}
        onChange={(next) => change({ status: next === 'active' ? undefined : next })}
        items={KEY_TABS.map((value) => ({ value, label: TAB_NAMES[value] }))}
      >
        <Loaded query={pages} what="API keys">
          {(rows) =>
            rows.length === 0 ? (
              <NoKeys status={status} onCreate={begin} />
            ) : (
              <>
                <KeysTable rows={rows} onOpen={({ id }) => change({ key: id })} onRevoke={setRevoking} />
                <LoadMore pages={pages} noun="key" />
              </>
            )
          }
        </Loaded>
      </Tabs>
      <KeySheet
        id={key}
        listed={pages.rows.find(({ id }) => id === key)}
        onClose={() => change({ key: undefined })}
        onRevoke={setRevoking}
      />
      <RevokeKey target={revoking} onClose={() => setRevoking(undefined)} />
      <CreateKey
        open={create === '1' && created === undefined}
        onClose={() => change({ create: undefined })}
        onCreated={(next) => {
          change({ create: undefined }, { replace: true })
          setCreated(next)
        }}
      />
      <SecretDialog created={created} onClose={finish} />
    </Page>
  )
}

interface NoKeysProps {
  readonly status: KeyTab
  readonly onCreate: () => void
}

function NoKeys({ status, onCreate }: NoKeysProps) {
  if (status === 'expired') return <Empty icon={KeyRound} title="No key has expired" />
  if (status === 'revoked') return <Empty icon={KeyRound} title="No key has been revoked" />
  return (
    <Empty
      icon={KeyRound}
      title="No API keys yet"
      action={
        <Button variant="primary" icon={Plus} onClick={onCreate}>
          Create key
        </Button>
      }
      command="turnpike keys create --name production"
    >
      Create one for each program, so that you can see what it uses and stop it alone.
    </Empty>
  )
}
