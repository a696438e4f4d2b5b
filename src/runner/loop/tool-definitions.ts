/** The tools, as the model is told of them. They are few: everything else is a shell command. */
import { DEFAULT_COMMAND_MS, DEFAULT_OUTPUT_BYTES, MAX_COMMAND_MS, MAX_OUTPUT_BYTES } from './limits.ts'

const text = (description: string) => ({ type: 'string', description })
const count = (description: string) => ({ type: 'integer', description })
const flag = (description: string) => ({ type: 'boolean', description })
const PATH = text('Relative to /workspace, or beginning with /workspace/.')

export const TOOL_NAMES = ['shell', 'view', 'edit', 'create', 'search', 'finish'] as const
export type ToolName = (typeof TOOL_NAMES)[number]

interface Definition {
  readonly description: string
  readonly properties: Readonly<Record<string, object>>
  readonly required: readonly string[]
}

const DEFINITIONS: Readonly<Record<ToolName, Definition>> = {
  shell: {
    description:
      'Runs a command with a shell in /workspace and gives its output and exit code. Long outputs lose their middle.',
    properties: {
      command: text('The command line, or a script of several lines.'),
      timeout_seconds: count(`${DEFAULT_COMMAND_MS / 1000} unless said; ${MAX_COMMAND_MS / 1000} at most.`),
      output_bytes: count(
        `How much output is wanted: ${DEFAULT_OUTPUT_BYTES} unless said; ${MAX_OUTPUT_BYTES} at most.`,
      ),
    },
    required: ['command'],
  },
  view: {
    description: 'Shows a file with line numbers, or what a directory holds.',
    properties: { path: PATH, start_line: count('First line, from 1.'), end_line: count('Last line, included.') },
    required: ['path'],
  },
  edit: {
    description:
      'Replaces text in a file. `old` must occur exactly once, with its white space and without line numbers; take lines around it to make it so.',
    properties: {
      path: PATH,
      old: text('The text as it is in the file.'),
      new: text('What stands there afterwards.'),
      replace_all: flag('Replace every occurrence.'),
    },
    required: ['path', 'old', 'new'],
  },
  create: {
    description: 'Makes a new file, and the directories that it needs.',
    properties: { path: PATH, content: text('The whole file.'), overwrite: flag('Replace a file that is there.') },
    required: ['path', 'content'],
  },
  search: {
    description: 'Finds lines that match a regular expression, as path:line:text.',
    properties: { pattern: text('An extended regular expression.'), path: PATH },
    required: ['pattern'],
  },
  finish: {
    description: 'Ends the work. Call it alone, when nothing is left to do.',
    properties: { summary: text('For the user: what was changed and why, how it was checked, what is left.') },
    required: ['summary'],
  },
}

/** In the format of chat completions. */
export const TOOLS: readonly object[] = TOOL_NAMES.map((name) => {
  const { description, properties, required } = DEFINITIONS[name]
  return { type: 'function', function: { name, description, parameters: { type: 'object', properties, required } } }
})

const OTHER_NAMES: Readonly<Record<string, ToolName>> = {
  bash: 'shell',
  sh: 'shell',
  run: 'shell',
  execute: 'shell',
  exec: 'shell',
  run_command: 'shell',
  terminal: 'shell',
  read: 'view',
  read_file: 'view',
  open: 'view',
  cat: 'view',
  ls: 'view',
  str_replace: 'edit',
  replace: 'edit',
  edit_file: 'edit',
  write: 'create',
  write_file: 'create',
  create_file: 'create',
  grep: 'search',
  find: 'search',
  done: 'finish',
  submit: 'finish',
  complete: 'finish',
}

/** Also by names that are usual elsewhere, and with what some models put before them (`functions.shell`). */
export function toolNamed(name: string): ToolName | undefined {
  const bare = name.toLowerCase().replace(/^.*[.:/]/, '')
  return TOOL_NAMES.find((each) => each === bare) ?? (Object.hasOwn(OTHER_NAMES, bare) ? OTHER_NAMES[bare] : undefined)
}
