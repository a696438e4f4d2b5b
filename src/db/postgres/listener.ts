/**
 * Receives change notifications of other processes (`LISTEN`) on its own connection, and sends heartbeats on it: a server
 * that hangs does not answer on the other connections either.
 */
import type { Socket } from 'node:net'
import { Client } from 'pg'
import { connectionConfig } from './pool.ts'

/** The channel of the triggers of the first migration. */
const CHANNEL = 'turnpike_changed'
const HEARTBEAT_MS = 1_000
/** In two parts: after a pause of this process, the replies that arrived meanwhile are read in between. */
const ANSWER_WITHIN_MS = 1_000
const GRACE_MS = 250
const RECONNECT_MS = 250

export interface PostgresListener {
  close(): Promise<void>
}

export interface ListenerInput {
  readonly url: string
  /** Called when something changed or may have: also after each connect, for missed notifications. */
  readonly onChanged: () => void
  /** The server did not answer in time. */
  readonly onHang: (error: Error) => void
}

interface ListenConnection extends ListenerInput {
  readonly sockets: Set<Socket>
  client: Client | undefined
  schema: string | undefined
  timer: NodeJS.Timeout | undefined
  isClosed: boolean
}

/** Connects and reconnects until it is closed. */
export function listenForChanges(input: ListenerInput): PostgresListener {
  const listening: ListenConnection = {
    ...input,
    sockets: new Set(),
    client: undefined,
    schema: undefined,
    timer: undefined,
    isClosed: false,
  }
  void connect(listening)
  return {
    async close() {
      listening.isClosed = true
      clearTimeout(listening.timer)
      listening.client?.end().catch(() => undefined)
      for (const socket of listening.sockets) socket.destroy()
    },
  }
}

async function connect(listening: ListenConnection): Promise<void> {
  const client = new Client(connectionConfig(listening.url, listening.sockets))
  listening.client = client
  client.on('error', () => reconnect(listening, client))
  client.on('end', () => reconnect(listening, client))
  client.on('notification', ({ payload }) => {
    if (payload === listening.schema) listening.onChanged()
  })
  try {
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    const { rows } = await client.query<{ schema: string }>('select current_schema() as schema')
    listening.schema = rows[0]?.schema
  } catch {
    return reconnect(listening, client)
  }
  if (listening.isClosed) return
  listening.onChanged()
  heartbeat(listening, client)
}

function reconnect(listening: ListenConnection, client: Client): void {
  if (listening.client !== client || listening.isClosed) return
  listening.client = undefined
  client.end().catch(() => undefined)
  for (const socket of listening.sockets) socket.destroy()
  clearTimeout(listening.timer)
  listening.timer = setTimeout(() => void connect(listening), RECONNECT_MS).unref()
}

function heartbeat(listening: ListenConnection, client: Client): void {
  if (listening.client !== client || listening.isClosed) return
  const giveUp = () => {
    const error = new Error(`PostgreSQL has not answered for ${ANSWER_WITHIN_MS + GRACE_MS} ms.`)
    listening.onHang(error)
    reconnect(listening, client)
  }
  listening.timer = setTimeout(() => {
    listening.timer = setTimeout(giveUp, GRACE_MS).unref()
  }, ANSWER_WITHIN_MS).unref()
  client.query('select 1').then(
    () => {
      if (listening.client !== client) return
      clearTimeout(listening.timer)
      listening.timer = setTimeout(() => heartbeat(listening, client), HEARTBEAT_MS).unref()
    },
    () => reconnect(listening, client),
  )
}
