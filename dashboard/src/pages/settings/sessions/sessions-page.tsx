import { useQueryClient } from '@tanstack/react-query'
import { Laptop, LogOut, Smartphone } from 'lucide-react'
import { useState } from 'react'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { signOut } from '../../../api/session.ts'
import { plural } from '../../../lib/format.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { StatusChip } from '../../../ui/status.tsx'
import { LoadMore, type Pages, usePages } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Dash, Time } from '../../../ui/values.tsx'
import { browserName, isHandheld } from './browser-name.ts'

export function SessionsPage() {
  const pages = useSessions()
  const [ending, setEnding] = useState<readonly Session[]>([])
  const others = pages.rows.filter(({ current }) => !current)
  return (
    <Page
      title="Sessions"
      description="Browsers in which you are signed in. Sign out those that you do not recognize."
      actions={
        others.length > 0 && (
          <Button icon={LogOut} onClick={() => setEnding(others)}>
            Sign out all others
          </Button>
        )
      }
    >
      <Loaded query={pages} what="sessions">
        {(rows) => (
          <div>
            <Table
              label="Sessions"
              density="comfortable"
              columns={columnsFor((session) => setEnding([session]))}
              rows={rows}
              rowKey={({ id }) => id}
              empty={<Empty icon={Laptop} title="No sessions" />}
            />
            <LoadMore pages={pages} noun="session" />
          </div>
        )}
      </Loaded>
      <EndSessions sessions={ending} onClose={() => setEnding([])} />
    </Page>
  )
}

function columnsFor(onEnd: (session: Session) => void): readonly Column<Session>[] {
  return [
    { id: 'browser', header: 'Browser', primary: true, cell: (row) => <Browser row={row} /> },
    { id: 'address', header: 'Address', cell: (row) => row.address ?? <Dash /> },
    { id: 'seen', header: 'Last seen', cell: (row) => <Time iso={row.last_used_at} relative /> },
    { id: 'begun', header: 'Signed in', cell: (row) => <Time iso={row.created_at} relative /> },
    { id: 'ends', header: 'Ends', hideBelow: 'lg', cell: (row) => <Time iso={row.expires_at} relative /> },
    { id: 'actions', header: 'Actions', align: 'right', cell: (row) => <SignOut row={row} onEnd={onEnd} /> },
  ]
}

function Browser({ row }: { readonly row: Session }) {
  const Icon = isHandheld(row.user_agent) ? Smartphone : Laptop
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <Icon aria-hidden className="size-4 shrink-0 text-soft" />
      <span className="max-w-64 truncate font-medium" title={row.user_agent ?? undefined}>
        {browserName(row.user_agent)}
      </span>
      {row.current && <StatusChip tone="info">This one</StatusChip>}
    </span>
  )
}

interface SignOutProps {
  readonly row: Session
  readonly onEnd: (session: Session) => void
}

function SignOut({ row, onEnd }: SignOutProps) {
  const name = row.current ? 'Sign out here' : `Sign out ${browserName(row.user_agent)}`
  return (
    <Button
      size="sm"
      variant="ghost"
      icon={LogOut}
      aria-label={name}
      onClick={() => (row.current ? void signOut() : onEnd(row))}
    >
      Sign out
    </Button>
  )
}

interface EndSessionsProps {
  readonly sessions: readonly Session[]
  readonly onClose: () => void
}

function EndSessions({ sessions, onClose }: EndSessionsProps) {
  const end = useEndSessions()
  const [first] = sessions
  const isOne = sessions.length === 1
  return (
    <ConfirmDialog
      open={first !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={isOne && first !== undefined ? `Sign out ${browserName(first.user_agent)}?` : 'Sign out all others?'}
      confirmLabel="Sign out"
      danger
      onConfirm={async () => {
        await end(sessions.map(({ id }) => id))
        toast(`${plural(sessions.length, 'browser is', 'browsers are')} signed out`)
      }}
    >
      <p>
        {isOne ? 'It is' : `${plural(sessions.length, 'browser')} are`} signed out within a second. API keys and
        connected devices keep working.
      </p>
    </ConfirmDialog>
  )
}

type Session = paths['/v1/sessions']['get']['responses'][200]['content']['application/json']['data'][number]

const SESSIONS = '/v1/sessions'
const PAGE_SIZE = 50

function useSessions(): Pages<Session> {
  return usePages([SESSIONS], (cursor) =>
    take(api.GET('/v1/sessions', { params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } } })),
  )
}

/** Ends sessions one after the other; one that is over already is no failure. */
function useEndSessions(): (ids: readonly string[]) => Promise<void> {
  const queries = useQueryClient()
  return async (ids) => {
    try {
      for (const id of ids) await endOne(id)
    } finally {
      await queries.invalidateQueries({ queryKey: [SESSIONS] })
    }
  }
}

async function endOne(id: string): Promise<void> {
  const answer = await api.DELETE('/v1/sessions/{id}', { params: { path: { id } } })
  if (answer.response.status !== 404) await take(Promise.resolve(answer))
}
