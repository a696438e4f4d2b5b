/** `turnpike reload`: has the running services of a data directory read their configuration again. */
import { loadCliConfig } from './context.ts'
import { reloadServices } from './control-socket.ts'

/** Rejects unless there is a service, and every one takes the configuration over. */
export async function reload(): Promise<void> {
  const { data_dir: dataDirectory } = await loadCliConfig()
  const outcomes = await reloadServices(dataDirectory)
  if (outcomes.length === 0) throw new Error(`No running service of this machine has its data in ${dataDirectory}.`)
  for (const { pid, problems } of outcomes) {
    if (problems.length === 0) process.stdout.write(`Process ${pid} has reloaded its configuration.\n`)
  }
  const failed = outcomes.filter(({ problems }) => problems.length > 0)
  if (failed.length === 0) return
  const told = failed.map(({ pid, problems }) => `process ${pid}: ${problems.join('; ')}`)
  throw new Error(`Not reloaded, the running configuration stays in force: ${told.join(' ')}`)
}
