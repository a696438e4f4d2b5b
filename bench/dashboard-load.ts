/**
 * Users of the dashboard, in a separate process: each opens a view per second on average, or when the previous one has
 * loaded, independently of the others.
 * `node dashboard-load.ts <port> <key> <people>`
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { viewsAt } from './dashboard-views.ts'

const VIEW_MS = 1_000
/** Below this share of the requested pace a warning is printed: the load is lower than intended. */
const TOO_FEW = 0.6
const COUNTED_MS = 2_000

const [port = '', key = '', people = ''] = process.argv.slice(2)
let opened = 0

async function get(path: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } })
  const body = await response.text()
  if (response.status === 503) return refused(Number(response.headers.get('retry-after')))
  // An error ends the process, which the bench detects: rejected requests are no load.
  if (!response.ok) throw new Error(`${response.status} for ${path}: ${body}`)
}

/** The gateway is overloaded: the viewer returns after `Retry-After`. */
async function refused(seconds: number): Promise<void> {
  console.log('  (refused: this machine is too busy to measure anything)')
  await sleep(seconds * 1_000)
}

async function look(first: number): Promise<never> {
  await sleep(VIEW_MS * Math.random())
  for (let round = first; ; round++) {
    const pause = sleep(VIEW_MS * (0.5 + Math.random()))
    const views = viewsAt(Date.now())
    await Promise.all((views[round % views.length]?.paths ?? []).map(get))
    opened++
    await pause
  }
}

process.on('disconnect', () => process.exit())
process.send?.(Number(port))
for (let person = 0; person < Number(people); person++) void look(person)
setInterval(() => {
  const perSecond = (opened * 1_000) / COUNTED_MS
  opened = 0
  if (perSecond < TOO_FEW * Number(people)) console.log(`  (only ${perSecond.toFixed(1)} views a second were answered)`)
}, COUNTED_MS)
