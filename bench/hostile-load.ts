/** Sends hostile bodies as one account, all kinds in rotation, 24 of 8 MiB at once, until it is stopped. */
import { setPriority } from 'node:os'
import { type Assault, assault } from '../test/support/http/hostile-bodies.ts'

const [port = '', key = '', model = ''] = process.argv.slice(2)
const ASSAULT: Assault = { atOnce: 24, bytes: 8 * 1024 * 1024, slow: 100 }

setPriority(15) // attackers have their own processors
process.send?.(Number(port))
for (;;) {
  const statuses = await assault({ port: Number(port), key, model }, ASSAULT)
  console.log(`hostile answers: ${[...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')}`)
}
