/**
 * The release before and this one side by side on one PostgreSQL, while three processes are replaced under 200 streams. It is
 * slow. Runs on one database: a PostgreSQL of its own.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, renameSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { request } from 'undici'
import { CHAT, eventually, getJson, hello } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { startPostgres } from '../support/process/postgres-server.ts'
import { chunk, frame, SSE_HEAD, sendFrames, textChunks } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const EARLIER = '0.1.0'
const STREAMS = 200
const PROCESSES = 3
/** A process that is new has its part of the load when so many have ended. */
const MORE_ENDED = STREAMS / 4
const WORDS = 3
const WORD_EVERY_MS = 800
/** For so many streams to end on a busy machine. */
const ENDED_WITHIN_MS = 180_000
const SECRET = 'known to all processes of the test'

const git = (...words: readonly string[]): string => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim()

/** The tag of the release, else the last commit of its version. */
function commitOfEarlier(): string {
  const tags = git('tag', '--list', EARLIER, `v${EARLIER}`)
  if (tags !== '') return tags.split('\n')[0] ?? ''
  assert.equal(git('rev-parse', '--is-shallow-repository'), 'false', 'The history is shallow: git fetch --unshallow')
  const [changed] = git('log', '--format=%H', `-S"version": "${EARLIER}"`, '--', 'package.json').split('\n')
  assert.ok(changed, `No commit has version ${EARLIER}.`)
  return `${changed}^`
}

/**
 * Its sources, on the packages of this release: it has fewer, in the same versions. They stay where they are for the next
 * run, since what Node.js has compiled of them goes by their path.
 */
function checkOutEarlier(): string {
  const commit = git('rev-parse', commitOfEarlier())
  const folder = join(tmpdir(), `turnpike-earlier-${hash('sha256', `${ROOT} ${commit}`).slice(0, 16)}`)
  if (!existsSync(folder)) {
    const unfinished = mkdtempSync(`${folder}-`)
    const script = 'git archive "$1" -- . ":!dashboard" ":!test" ":!docs" | tar -x -C "$2"'
    execFileSync('sh', ['-c', script, 'sh', commit, unfinished], { cwd: ROOT })
    symlinkSync(join(ROOT, 'node_modules'), join(unfinished, 'node_modules'))
    renameSync(unfinished, folder)
  }
  const program = join(folder, 'bin', 'turnpike.js')
  assert.ok(existsSync(program))
  return program
}

const slowWords: Script = async (_, reply) => {
  reply.head(200, SSE_HEAD)
  for (let word = 0; word < WORDS; word++) {
    if (!(await reply.write(frame(chunk({ content: ' hello' })))) || !(await reply.wait(WORD_EVERY_MS))) return
  }
  reply.bill({ promptTokens: 10, completionTokens: WORDS })
  if (await sendFrames(reply, textChunks(WORDS).slice(-2))) reply.end(frame('[DONE]'))
}

const earlier = checkOutEarlier()
const postgres = await startPostgres()
const provider = await startFakeProvider(slowWords)
const serving: Gateway[] = []
after(async () => {
  await Promise.all(serving.map((gateway) => gateway.stop()))
  await provider.close()
  await postgres.stop()
})

function start(options: { readonly program?: string; readonly args?: readonly string[] } = {}): Promise<Gateway> {
  const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: SECRET, LOG_LEVEL: 'error' }
  return startGateway({ config: oneModel(provider.url), env, ...options })
}

interface Load {
  readonly completed: () => number
  /** Resolves when `MORE_ENDED` have ended since. Rejects when one was cut. */
  untilMoreEnded(): Promise<void>
  /** Lets running streams end. */
  stop(): Promise<void>
}

/** Clients that each read one stream after another; the first that is cut ends the load. */
function startLoad(key: string): Load {
  let completed = 0
  let isOver = false
  const client = async (number: number): Promise<void> => {
    for (let turn = number; !isOver; turn++) {
      const text = await readStream(serving[turn % serving.length] ?? assert.fail('none serves'), key)
      if (text === undefined) continue
      assert.match(text, /data: \[DONE\]\n\n$/)
      assert.equal(text.split('" hello"').length - 1, WORDS, text)
      completed += 1
    }
  }
  const clients = Promise.all(Array.from({ length: STREAMS }, (_, number) => client(number)))
  clients.catch(() => {
    isOver = true
  })
  return {
    completed: () => completed,
    async untilMoreEnded() {
      const until = completed + MORE_ENDED
      await eventually(
        async () => isOver || completed >= until,
        (ended) => ended,
        ENDED_WITHIN_MS,
      )
      if (isOver) await clients
    },
    async stop() {
      isOver = true
      await clients
    },
  }
}

/** Of connections that a process closed before it answered: it may close an idle one while a request is on its way. */
const UNANSWERED = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'])

/** @returns Undefined where a process that ends refused it before it began. */
async function readStream({ url }: Gateway, key: string): Promise<string | undefined> {
  const response = await request(url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(hello({ stream: true })),
  }).catch((error: NodeJS.ErrnoException) => {
    if (!UNANSWERED.has(error.code)) throw error
  })
  if (response === undefined) return undefined
  const text = await response.body.text()
  if (response.statusCode === 503) return undefined
  assert.equal(response.statusCode, 200, text)
  return text
}

test('three processes are replaced under 200 streams: none is cut, and the ledger is exact', async (context) => {
  context.diagnostic(`Release ${EARLIER} is ${commitOfEarlier()}.`)
  for (let count = 0; count < PROCESSES; count++) serving.push(await start({ program: earlier, args: ['--migrate'] }))
  const [, key = assert.fail('the first start shows no key')] = /(tp_\w{46})/.exec(serving[0]?.output() ?? '') ?? []
  const load = startLoad(key)
  await load.untilMoreEnded()

  const env = { PATH: '', DATABASE_URL: postgres.url, TURNPIKE_SECRET: SECRET }
  const migrated = execFileSync(process.execPath, [join(ROOT, 'bin', 'turnpike.js'), 'migrate'], { env })
  assert.match(String(migrated), /^applied /)
  await load.untilMoreEnded()

  for (let count = 0; count < PROCESSES; count++) {
    serving.push(await start())
    const old = serving.shift() ?? assert.fail()
    old.signal('SIGTERM')
    assert.equal(await old.exited, 0, old.output())
    await load.untilMoreEnded()
  }
  await load.stop()

  const [gateway = assert.fail()] = serving
  await eventually(
    () => getJson<{ readonly held_usd: number }>(gateway, key, '/v1/usage'),
    ({ held_usd: held }) => held === 0,
  )
  const rows = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
  assert.equal(rows.length, provider.bills.length)
  assert.equal(rows.length, load.completed())
  for (const {
    status,
    usage_source: source,
    prompt_tokens: read,
    completion_tokens: written,
    cost_usd: cost,
  } of rows) {
    assert.deepEqual(
      [status, source, read, written, cost],
      ['completed', 'provider', 10, WORDS, (10 * 1000 + WORDS * 2000) / 1e9],
    )
  }
  assert.equal((await reconcile(gateway, key)).ok, true)
})
