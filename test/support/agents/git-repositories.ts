/** Bare repositories for tests, honest and hostile, made by git's own plumbing: no check of git's stands in the way. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findTool } from '../../../scripts/kit/machine-tools.ts'

// Whoever clones one does so as the product does.
for (const tool of ['git', 'bubblewrap'] as const) findTool(tool)

export interface TreeFile {
  /** Any bytes but NUL and `/`, which separates folders. */
  readonly path: string
  readonly content: string | Buffer
  readonly mode?: '100644' | '100755' | '120000' | '160000'
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Maker',
  GIT_AUTHOR_EMAIL: 'maker@example.com',
  GIT_COMMITTER_NAME: 'Maker',
  GIT_COMMITTER_EMAIL: 'maker@example.com',
  GIT_AUTHOR_DATE: '@1700000000 +0000',
  GIT_COMMITTER_DATE: '@1700000000 +0000',
}

/** What a run leaves belongs to the user of its commands. */
const ANY_OWNER = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' }

/** Git as somebody outside uses it, in `directory`, without this machine's settings. */
export function gitIn(directory: string, args: readonly string[], input: string | Buffer = ''): string {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', ...ANY_OWNER, ...IDENTITY }
  const options = { cwd: directory, env, input, encoding: 'utf8', stdio: 'pipe', maxBuffer: 256 * 1024 * 1024 } as const
  return execFileSync('git', args, options)
}

export interface RepositoryContent {
  /** A commit each, the first first; every one is a whole tree. */
  readonly commits: readonly (readonly TreeFile[])[]
  /** `main` by default. */
  readonly branch?: string
}

/**
 * @param name `organisation/repository`.
 * @returns the path of the bare repository, below `root`.
 */
export function createBareRepository(
  root: string,
  name: string,
  { commits, branch = 'main' }: RepositoryContent,
): string {
  const path = join(root, `${name}.git`)
  mkdirSync(path, { recursive: true })
  gitIn(path, ['init', '--quiet', '--bare', `--initial-branch=${branch}`])
  for (const files of commits) commitTo(path, branch, files)
  return path
}

/** @returns the id of the commit. */
export function commitTo(path: string, branch: string, files: readonly TreeFile[]): string {
  const ref = `refs/heads/${branch}`
  const parent = gitIn(path, ['for-each-ref', '--format=%(objectname)', ref]).trim()
  const parents = parent === '' ? [] : ['-p', parent]
  const commit = gitIn(path, ['commit-tree', writeTree(path, files), ...parents, '-m', 'A commit']).trim()
  gitIn(path, ['update-ref', ref, commit])
  return commit
}

/** Byte by byte, since git's own commands refuse the names that are wanted here. */
function writeTree(path: string, files: readonly TreeFile[]): string {
  const folders = new Map<string, TreeFile[]>()
  const entries: { name: Buffer; order: Buffer; mode: string; id: string }[] = []
  const add = (name: string, mode: string, id: string): void => {
    const order = Buffer.from(mode === '40000' ? `${name}/` : name)
    entries.push({ name: Buffer.from(name), order, mode, id })
  }
  for (const file of files) {
    const [first = '', ...rest] = file.path.split('/')
    if (rest.length === 0) add(first, file.mode ?? '100644', writeBlob(path, file))
    else folders.set(first, [...(folders.get(first) ?? []), { ...file, path: rest.join('/') }])
  }
  for (const [name, inside] of folders) add(name, '40000', writeTree(path, inside))
  entries.sort((a, b) => Buffer.compare(a.order, b.order))
  return writeTreeObject(path, entries)
}

/** @param entries In the order of git. */
export function writeTreeObject(
  path: string,
  entries: readonly { readonly name: Buffer | string; readonly mode: string; readonly id: string }[],
): string {
  const bytes = entries.flatMap(({ name, mode, id }) => [
    Buffer.from(`${mode} `),
    Buffer.from(name),
    Buffer.from([0]),
    Buffer.from(id, 'hex'),
  ])
  return gitIn(path, ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], Buffer.concat(bytes)).trim()
}

function writeBlob(path: string, { content, mode }: TreeFile): string {
  if (mode === '160000') return content.toString()
  return gitIn(path, ['hash-object', '-w', '--stdin'], Buffer.from(content)).trim()
}
