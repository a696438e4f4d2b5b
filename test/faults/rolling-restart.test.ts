/**
 * Three processes on one PostgreSQL are restarted one by one behind nginx and behind HAProxy, under 200 streams and further
 * requests. It is slow. Runs on one database: a PostgreSQL of its own.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { CHAT, eventually, getJson, hello } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { createProxies, type Replaced } from '../support/http/proxies.ts'
import { everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { freePort } from '../support/process/free-port.ts'
import { startPostgres } from '../support/process/postgres-server.ts'
import {
  answerJson,
  bodyOf,
  chunk,
  completion,
  counts,
  frame,
  SSE_HEAD,
  sendFrames,
  textChunks,
} from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const STREAMS = 200
const CALLERS = 4
const CALL_EVERY_MS = 1_000
const PROCESSES = 3
/** A process that is back has its part of the load when so many have ended, one in three of them its own. */
const MORE_ENDED = STREAMS / 4
const WORDS = 3
/** Longer streams keep as many open at once with fewer begun. */
const WORD_EVERY_MS = 1_400
/** For so many streams to end on a busy machine. */
const ENDED_WITHIN_MS = 180_000

const slowWords: Script = async (call, reply) => {
  reply.bill({ promptTokens: 10, completionTokens: WORDS })
  if (bodyOf(call).stream !== true) {
    return answerJson(completion({ content: 'hello' }, { usage: counts(10, WORDS) }))(call, reply)
  }
  reply.head(200, SSE_HEAD)
  for (let word = 0; word < WORDS; word++) {
    if (!(await reply.write(frame(chunk({ content: ' hello' })))) || !(await reply.wait(WORD_EVERY_MS))) return
  }
  if (await sendFrames(reply, textChunks(WORDS).slice(-2))) reply.end(frame('[DONE]'))
}

const postgres = await startPostgres()
const provider = await startFakeProvider(slowWords)
const proxies = createProxies(after)
const ports = await Promise.all(Array.from({ length: PROCESSES }, freePort))
const gateways = new Map<number, Gateway>()
after(async () => {
  await Promise.all([...gateways.values()].map((gateway) => gateway.stop()))
  await provider.close()
  await postgres.stop()
})
for (const port of ports) gateways.set(port, await start(port))

function start(port: number): Promise<Gateway> {
  const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: 'known to all processes of the test', LOG_LEVEL: 'error' }
  return startGateway({ config: oneModel(provider.url), env, args: ['--migrate'], port })
}

function anyGateway(): Gateway {
  return [...gateways.values()][0] ?? assert.fail('none serves')
}

/** Refusals by a machine that runs other tests, which clients repeat. Those of a restart are others. */
const BUSY = /"code":"(?:overloaded|database_unavailable)"/

/** Clients behind a proxy, each on connections of its own; the first that is cut or refused ends the load. */
function startLoad(url: string, key: string) {
  const completed = { streams: 0, others: 0 }
  let isOver = false
  const ask = async (stream: boolean): Promise<string> => {
    const { statusCode, body } = await request(url + CHAT, {
      dispatcher: proxies.dispatcher,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(hello({ stream })),
      reset: true,
    })
    const text = await body.text()
    if (BUSY.test(text)) return ask(stream)
    assert.equal(statusCode, 200, text)
    return text
  }
  const reader = async (): Promise<void> => {
    while (!isOver) {
      const text = await ask(true)
      assert.match(text, /data: \[DONE\]\n\n$/)
      assert.equal(text.split('" hello"').length - 1, WORDS, text)
      completed.streams += 1
    }
  }
  const caller = async (): Promise<void> => {
    while (!isOver) {
      assert.match(await ask(false), /"hello"/)
      completed.others += 1
      await sleep(CALL_EVERY_MS)
    }
  }
  const clients = Promise.all([...Array.from({ length: STREAMS }, reader), ...Array.from({ length: CALLERS }, caller)])
  clients.catch(() => {
    isOver = true
  })
  return {
    completed,
    async untilMoreEnded(): Promise<void> {
      const until = completed.streams + MORE_ENDED
      await eventually(
        async () => isOver || completed.streams >= until,
        (ended) => ended,
        ENDED_WITHIN_MS,
      )
    },
    async stop(): Promise<void> {
      isOver = true
      await clients
    },
  }
}

interface Balancer {
  readonly url: string
  /** Resolves when the proxy sends a process no more requests, also not those of connections that it has accepted. */
  takeOut(port: number): Promise<void>
  putBack(port: number): Promise<void>
}

async function restartAll({ url, takeOut, putBack }: Balancer): Promise<void> {
  const account = await anyGateway().cli('accounts', 'create', '--name', 'many', '--plan', 'unlimited')
  const key = await anyGateway().key('--account', account)
  const billed = provider.bills.length
  const load = startLoad(url, key)
  await load.untilMoreEnded()
  for (const port of ports) {
    await takeOut(port)
    const old = gateways.get(port) ?? assert.fail()
    gateways.delete(port)
    old.signal('SIGTERM')
    assert.equal(await old.exited, 0, old.output())
    gateways.set(port, await start(port))
    await putBack(port)
    await load.untilMoreEnded()
  }
  await load.stop()
  const { streams, others } = load.completed
  console.log(`rolling restart: ${streams} streams and ${others} further requests, none cut or refused`)

  await eventually(
    () => getJson<{ readonly held_usd: number }>(anyGateway(), key, '/v1/usage'),
    ({ held_usd: held }) => held === 0,
  )
  const rows = await everyRow<UsageRow>(anyGateway(), key, '/v1/usage/completions')
  assert.equal(rows.length, streams + others)
  assert.equal(rows.length, provider.bills.length - billed)
  for (const {
    status,
    usage_source: source,
    prompt_tokens: read,
    completion_tokens: written,
    cost_usd: cost,
  } of rows) {
    assert.deepEqual(
      [status, source, read, written, cost],
      ['completed', 'provider', 10, WORDS, (10 + WORDS * 2) / 1e6],
    )
  }
  assert.equal((await reconcile(anyGateway(), key)).ok, true)
}

/** Of a line of `ps`; what a process calls itself changes. */
const pidOf = (line: string): string => line.trim().split(' ')[0] ?? ''

async function withNginx(t: TestContext): Promise<Balancer> {
  const servers = (out?: number): Replaced => {
    const lines = ports.map((port) => `  server 127.0.0.1:${port} max_fails=0${port === out ? ' down' : ''};`)
    return [['  server 127.0.0.1:7575 max_fails=0;', lines.join('\n')]]
  }
  const { pid, url, rewrite } = await proxies.startNginx(t, await freePort(), servers())
  const workers = (): string[] => {
    const listed = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' }).trim()
    return listed.split('\n').filter((line) => line.includes('worker process')) // also those that only end their requests
  }
  /** Resolves when there is a worker that has read it. */
  const reload = async (out?: number): Promise<void> => {
    const before = workers()
    rewrite(servers(out))
    process.kill(pid, 'SIGHUP')
    await eventually(
      async () => workers(),
      (now) => now.some((worker) => !before.some((old) => pidOf(old) === pidOf(worker))),
    )
  }
  return {
    url,
    async takeOut(port) {
      await reload(port)
      await eventually(
        async () => workers(),
        ({ length }) => length === 1,
      )
    },
    putBack: () => reload(),
  }
}

async function withHaproxy(t: TestContext): Promise<Balancer> {
  const control = await freePort()
  const lines = ports.map((port) => `  server on-${port} 127.0.0.1:${port} check inter 2s fastinter 500ms`)
  const { url } = await proxies.startHaproxy(t, await freePort(), [
    ['defaults\n', `global\n  stats socket ipv4@127.0.0.1:${control} level admin\n\ndefaults\n`],
    ['  server one 127.0.0.1:7575 check inter 2s fastinter 500ms', lines.join('\n')],
  ])
  const command = async (text: string): Promise<string> => {
    const socket = connect(control, '127.0.0.1').setEncoding('utf8')
    let answer = ''
    socket.on('data', (piece) => (answer += piece))
    socket.end(`${text}\n`)
    await once(socket, 'close')
    return answer
  }
  const set = async (port: number, state: string): Promise<void> => {
    assert.equal((await command(`set server turnpike/on-${port} state ${state}`)).trim(), '')
  }
  const isUp = async (port: number): Promise<boolean> =>
    new RegExp(`^turnpike,on-${port},(?:[^,]*,){15}UP,`, 'm').test(await command('show stat'))
  const isIdle = async (port: number): Promise<boolean> =>
    new RegExp(`^turnpike,on-${port},0,\\d+,0,`, 'm').test(await command('show stat'))
  return {
    url,
    async takeOut(port) {
      await set(port, 'drain')
      await eventually(
        () => isIdle(port),
        (idle) => idle,
      )
    },
    async putBack(port) {
      await set(port, 'ready')
      await eventually(
        () => isUp(port),
        (up) => up,
      )
    },
  }
}

test('behind nginx none of 200 streams and no request is cut or refused, and the ledger is exact', async (t) => {
  await restartAll(await withNginx(t))
})

test('behind HAProxy none of 200 streams and no request is cut or refused, and the ledger is exact', async (t) => {
  await restartAll(await withHaproxy(t))
})
