/** A folder for a test of git, with a repository to clone and a place for the run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { repositoryUrl } from '../../../src/runner/git/address.ts'
import type { Checkout } from '../../../src/runner/git/checkout.ts'
import { type CloneRequest, clone } from '../../../src/runner/git/remote.ts'
import { type GitSettings, gitSettings } from '../../../src/runner/git/settings.ts'
import { createBareRepository, type RepositoryContent } from './git-repositories.ts'

export const NAME = 'acme/tools'
export const LOCAL = gitSettings({ allowLocalGit: true })
export const README = { path: 'README.md', content: '# Tools\n' }

export interface GitRun {
  readonly root: string
  /** Of the bare repository `NAME`. */
  readonly origin: string
  readonly directory: string
}

export function gitRun(t: TestContext, content: RepositoryContent = { commits: [[README]] }): GitRun {
  const folder = mkdtempSync(join(tmpdir(), 'git-run-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const root = join(folder, 'repositories')
  return { root, origin: createBareRepository(root, NAME, content), directory: join(folder, 'run') }
}

/** Over `file://` unless the request has an address. */
export function cloneRun(
  run: GitRun,
  request: Partial<CloneRequest> = {},
  settings: GitSettings = LOCAL,
): Promise<Checkout> {
  const address = repositoryUrl(`file://${run.root}/{repository}.git`, NAME, LOCAL)
  const signal = AbortSignal.timeout(60_000)
  return clone(settings, { address, directory: run.directory, depth: 50, signal, ...request })
}

export const AUTHOR = { name: 'Turnpike', email: 'agent@turnpike.example' }
