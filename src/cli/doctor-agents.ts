/** What the doctor looks at for agents: the git of this machine, and whether a sandbox holds on it. */
import type { Config } from '../config/schema.ts'
import { gitSettings } from '../runner/git/settings.ts'
import { checkGit } from '../runner/git/version.ts'
import { selfTest } from '../runner/sandbox/self-test.ts'
import { type Check, failed, passed } from './doctor-machine.ts'

const GIT_WITHIN_MS = 10_000

export async function checkAgents({ sandbox: { backend } }: Config['agents']): Promise<Check> {
  const name = 'agents'
  const git = await checkGit(gitSettings(), AbortSignal.timeout(GIT_WITHIN_MS))
  if (!git.ok) return failed(name, `off: ${git.reason}`, `${capitalised(git.fix)}.`)
  if (backend === 'none') {
    const message =
      'THEY RUN WITHOUT A SANDBOX: what a model or a repository wants done is done with all rights of the service'
    return failed(
      name,
      message,
      'Set agents.sandbox.backend to bubblewrap, unless this machine is itself thrown away after each run.',
    )
  }
  const result = await selfTest()
  if (!result.ok) return failed(name, `off: the sandbox does not hold: ${result.reason}`, result.fix)
  return passed(name, `git ${git.version}, and a sandbox that holds`)
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
