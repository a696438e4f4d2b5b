/**
 * `npm run recording`: writes `docs/pictures/terminal.svg`, half a minute of a terminal: a start, a request, its usage. The
 * output is that of the commands, run against a fake provider; only secrets, the port and folders are replaced.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../test/support/client.ts'
import { completion, counts } from '../test/support/providers/answers.ts'
import { startFakeProvider } from '../test/support/providers/fake-provider.ts'
import { type Step, terminalSvg } from './kit/terminal-svg.ts'
import { ROOT } from './source-files.ts'

const FILE = join(ROOT, 'docs', 'pictures', 'terminal.svg')
const LABEL = 'A terminal: npm start prints the addresses and a key, curl gets an answer, and usage shows what it cost.'
const ANSWER = 'A turnpike: a road on which everyone pays exactly for the distance they travel.'
const CHAT = `curl -s localhost:7575/v1/chat/completions \\
  -H "Authorization: Bearer $TURNPIKE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "What is a turnpike?"}]}'`

const folder = mkdtempSync(join(tmpdir(), 'turnpike-recording-'))
const provider = await startFakeProvider((call, reply) => {
  const message = { role: 'assistant', content: ANSWER }
  const isChat = call.path.endsWith('/chat/completions')
  reply.head(isChat ? 200 : 404, { 'content-type': 'application/json' })
  reply.end(JSON.stringify(isChat ? completion(message, { usage: counts(14, 18) }) : {}))
})
const config = join(folder, 'turnpike.yaml')
writeFileSync(config, `providers: { openai: { base_url: "${provider.url}/v1" } }\n`)
const env = {
  ...{ PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1', LOG_LEVEL: 'warn', PORT: '0' },
  ...{ TURNPIKE_DATA_DIR: join(folder, 'data'), TURNPIKE_CONFIG: config, OPENAI_API_KEY: 'sk-none' },
}
const gateway = spawn('npm', ['start', '--silent'], { cwd: ROOT, env })
const ended = new Promise((resolve) => gateway.once('close', resolve))
const printed: string[] = []
for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', (piece) => printed.push(String(piece)))

try {
  const started = await eventually(
    async () => printed.join(''),
    (text) => /#token=\S+\n/.test(text),
    60_000,
  )
  const [, port = ''] = /running at \S+:(\d+)\n/.exec(started) ?? []
  const [key = ''] = /\btp_\w+/.exec(started) ?? []
  const shown = (text: string) =>
    text
      .replaceAll(`${folder}/`, './')
      .replaceAll(`:${port}`, ':7575')
      .replaceAll(/\btp_(\w{4})\w+/g, 'tp_$1…')
      .replaceAll(/#token=\S+/g, '#token=…')
  const run = async (command: string): Promise<string> => {
    const own = { ...env, TURNPIKE_API_KEY: key, TURNPIKE_URL: `http://127.0.0.1:${port}` }
    const words = ['-c', command.replace(':7575', `:${port}`)]
    return shown((await promisify(execFile)('sh', words, { cwd: ROOT, env: own })).stdout)
  }
  const usage = 'npm run -s turnpike -- usage --group-by model'
  const steps: readonly Step[] = [
    { command: 'npm start', output: shown(started).trim() },
    { command: CHAT, output: await run(CHAT) },
    { command: usage, output: await run(usage) },
  ]
  writeFileSync(FILE, terminalSvg(steps, LABEL))
} finally {
  gateway.kill('SIGTERM')
  await ended
  await provider.close()
  rmSync(folder, { recursive: true })
}
