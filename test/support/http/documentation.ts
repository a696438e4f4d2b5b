/** The fenced blocks of the documents that people read, as they stand there. */
import { globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Block {
  /** Relative path of the document. */
  readonly file: string
  /** Of the fence, from 1. */
  readonly line: number
  /** '' where the fence names none. */
  readonly language: string
  /** Without the indentation of the fence. */
  readonly text: string
}

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FENCED = /^( *)```([a-z]*)\n([\s\S]*?)\n *```$/gm

export function documentedBlocks(): readonly Block[] {
  const files = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT }).sort()]
  return files.flatMap((file) => {
    const document = readFileSync(join(ROOT, file), 'utf8')
    return [...document.matchAll(FENCED)].map(({ index, 1: indent = '', 2: language = '', 3: text = '' }) => ({
      file,
      line: document.slice(0, index).split('\n').length,
      language,
      text: text
        .split('\n')
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
        .join('\n'),
    }))
  })
}

/** As readers have it: `npm test` puts the project's own programs, Node.js among them, before those of the machine. */
export const MACHINE_PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((path) => !path.includes('node_modules') && !path.includes('node-gyp-bin'))
  .join(delimiter)
