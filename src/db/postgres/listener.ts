/**
 * Hears of changes that other processes make (`LISTEN`), on a connection of its own. The same connection asks all the time
 * whether the server still answers: a server that hangs says nothing on the others either.
 */
import type { Socket } from 'node:net'
import { Client } from 'pg'
import { connectionConfig } from './pool.ts'

/** What the triggers of the first migration notify. */
const CHANNEL = 'turnpike_changed'
const HEARTBEAT_MS = 1_000
/** In two parts: after a pause of this process, what came in meanwhile is read between them. */
const ANSWER_WITHIN_MS = 1_000
const GRACE_MS = 250
const RECONNECT_MS = 250

export interface PostgresListener {
  close(): Promise<void>
}

export interface ListenerInput {
  readonly url: string
  /** Something changed, or may have: it is also called after every connection, for what was not heard before. */
  readonly onChanged: () => void
  /** The server did not answer in time. */
  readonly onHang: (error: Error) => void
}

interface Ear extends ListenerInput {
  readonly sockets: Set<Socket>
  client: Client | undefined
  schema: string | undefined
  timer: NodeJS.Timeout | undefined
  isClosed: boolean
}

/** Connects by itself, again and again, until it is closed. */
export function listenForChanges(input: ListenerInput): PostgresListener {
  const ear: Ear = {
    ...input,
    sockets: new Set(),
    client: undefined,
    schema: undefined,
    timer: undefined,
    isClosed: false,
  }
  void connect(ear)
  return {
    async close() {
      ear.isClosed = true
      clearTimeout(ear.timer)
      ear.client?.end().catch(() => undefined)
      for (const socket of ear.sockets) socket.destroy()
    },
  }
}

async function connect(ear: Ear): Promise<void> {
  const client = new Client(connectionConfig(ear.url, ear.sockets))
  ear.client = client
  client.on('error', () => reconnect(ear, client))
  client.on('end', () => reconnect(ear, client))
  client.on('notification', ({ payload }) => {
    if (payload === ear.schema) ear.onChanged()
  })
  try {
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    const { rows } = await client.query<{ schema: string }>('select current_schema() as schema')
    ear.schema = rows[0]?.schema
  } catch {
    return reconnect(ear, client)
  }
  if (ear.isClosed) return
  ear.onChanged()
  beat(ear, client)
}

function reconnect(ear: Ear, client: Client): void {
  if (ear.client !== client || ear.isClosed) return
  ear.client = undefined
  client.end().catch(() => undefined)
  for (const socket of ear.sockets) socket.destroy()
  clearTimeout(ear.timer)
  ear.timer = setTimeout(() => void connect(ear), RECONNECT_MS).unref()
}

function beat(ear: Ear, client: Client): void {
  if (ear.client !== client || ear.isClosed) return
  const giveUp = () => {
    const error = new Error(`PostgreSQL has not answered for ${ANSWER_WITHIN_MS + GRACE_MS} ms.`)
    ear.onHang(error)
    reconnect(ear, client)
  }
  ear.timer = setTimeout(() => {
    ear.timer = setTimeout(giveUp, GRACE_MS).unref()
  }, ANSWER_WITHIN_MS).unref()
  client.query('select 1').then(
    () => {
      if (ear.client !== client) return
      clearTimeout(ear.timer)
      ear.timer = setTimeout(() => beat(ear, client), HEARTBEAT_MS).unref()
    },
    () => reconnect(ear, client),
  )
}
