/** `turnpike completion`: scripts for shells, which ask the hidden command `complete` for what can follow. */
import type { Command, Option } from 'commander'
import { print } from '../output.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_turnpike() {
  local IFS=$'\\n'
  COMPREPLY=($(turnpike complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _turnpike turnpike
`,
  zsh: `#compdef turnpike
_turnpike() {
  local -a found
  found=("\${(@f)$(turnpike complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found//$'\\t'/:}")
  [[ -n "$found" ]] && _describe turnpike found || _files
}
compdef _turnpike turnpike
`,
  fish: `complete -c turnpike -a '(turnpike complete -- (commandline -opc)[2..-1] (commandline -ct))'
`,
}

export function printCompletion(shell: Shell): Promise<void> {
  return print(SCRIPTS[shell])
}

/** Prints what can follow the words before the last, one a line with its description after a tab. */
export function printCandidates(program: Command, words: readonly string[]): Promise<void> {
  const lines = candidates(program, words).map(([text, description]) => `${text}\t${description}\n`)
  return print(lines.join(''))
}

type Candidate = readonly [text: string, description: string]

/** @param words After `turnpike`; the last is what is being typed, which may be empty. */
export function candidates(program: Command, words: readonly string[]): readonly Candidate[] {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const command = commandOf(program, before)
  const option = optionOf(command, before.at(-1))
  const all = option === undefined ? [...commandsOf(command), ...optionsOf(command, typed)] : valuesOf(option)
  return all.filter(([text]) => text.startsWith(typed))
}

/** The innermost command that the words name. */
function commandOf(program: Command, words: readonly string[]): Command {
  let command = program
  for (const word of words) command = command.commands.find((each) => each.name() === word) ?? command
  return command
}

/** The option whose value follows `word`. Many options have no short form, so a missing word must match none. */
function optionOf(command: Command, word: string | undefined): Option | undefined {
  if (word === undefined) return undefined
  return command.options.find((each) => (each.long === word || each.short === word) && (each.required || each.optional))
}

function commandsOf(command: Command): readonly Candidate[] {
  const shown = new Set(command.createHelp().visibleCommands(command))
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  return [
    ...command.commands.filter((each) => shown.has(each)).map((each) => [each.name(), each.description()] as const),
    ...choices.map((choice) => [choice, ''] as const),
  ]
}

/** Only where an option is being typed: otherwise they would hide the commands. */
function optionsOf(command: Command, typed: string): readonly Candidate[] {
  if (!typed.startsWith('-')) return []
  const options = command.createHelp().visibleOptions(command)
  return options.flatMap(({ long, description }) => (long == null ? [] : [[long, description] as const]))
}

function valuesOf({ argChoices = [] }: Option): readonly Candidate[] {
  return argChoices.map((choice) => [choice, ''] as const)
}
