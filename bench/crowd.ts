/** Sends a fixed number of requests per second for one account, in a separate process, until it is killed. */
import { pace } from './load.ts'

const [port, key = '', perSecond, model = ''] = process.argv.slice(2)
const target = { name: 'crowd', port: Number(port), pid: 0, key }
process.on('disconnect', () => process.exit())
process.send?.(0)
for (;;) await pace(target, { model, stream: false }, { perSecond: Number(perSecond), seconds: 60 })
