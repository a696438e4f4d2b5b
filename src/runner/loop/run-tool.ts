/** Runs one call of the model. Whatever is wrong with it is told to the model; only what is wrong with us is thrown. */
import { fieldOf, readArguments, ToolError } from './arguments.ts'
import { create, edit } from './change-tools.ts'
import { MAX_ARGUMENT_BYTES } from './limits.ts'
import { grouped } from './plain-text.ts'
import { search } from './search-tool.ts'
import { shell } from './shell-tool.ts'
import { TOOL_NAMES, type ToolName, toolNamed } from './tool-definitions.ts'
import { type ToolOutcome, type ToolRun, told } from './tool-run.ts'
import { view } from './view-tool.ts'

export interface CallToRun {
  /** As the model wrote them. */
  readonly name: string
  readonly arguments: string
  /** Whether the answer was cut where its length ended. */
  readonly isCut: boolean
  /** Whether they are longer than a call's may be. */
  readonly isTooLong: boolean
}

const TOOLS: Readonly<Record<Exclude<ToolName, 'finish'>, (run: ToolRun) => Promise<ToolOutcome>>> = {
  shell,
  view,
  edit,
  create,
  search,
}

export async function runTool(call: CallToRun, given: Omit<ToolRun, 'fields'>): Promise<ToolOutcome> {
  try {
    const name = toolNamed(call.name)
    const fields = call.isTooLong ? undefined : readArguments(call.arguments)
    if (name === undefined) throw new ToolError(unknownTool(call.name))
    if (fields === undefined || name === 'finish') throw new ToolError(unreadable(call))
    return await TOOLS[name]({ ...given, fields })
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    const outcome = told(error.message)
    return { ...outcome, hasFailed: true, ...(error.cause === 'workspace' ? { killed: 'workspace' } : {}) }
  }
}

/** The summary of a call that ends the work; undefined: another call. Whatever its arguments are, it ends the work. */
export function finishIn(call: CallToRun): string | undefined {
  if (toolNamed(call.name) !== 'finish' || call.isCut || call.isTooLong) return undefined
  const fields = readArguments(call.arguments)
  if (fields === undefined || Object.keys(fields).length === 0) return ''
  const summary = fieldOf(fields, 'summary')
  return typeof summary === 'string' ? summary : JSON.stringify(fields) // said in its own way, but said
}

function unknownTool(name: string): string {
  return `There is no tool '${name.slice(0, 64)}'. The tools are ${TOOL_NAMES.join(', ')}.`
}

function unreadable({ isCut, isTooLong }: CallToRun): string {
  if (isTooLong) return `The arguments have more than ${grouped(MAX_ARGUMENT_BYTES)} bytes. Write it in smaller pieces.`
  if (isCut) return 'The arguments were cut, because your answer reached its length limit. Write it in smaller pieces.'
  return 'The arguments are no JSON object. Within strings, write line ends as \\n and quotes as \\".'
}
