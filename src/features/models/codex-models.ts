/**
 * The models that Codex reads from `GET /models?client_version=…`, so that it knows their context windows.
 *
 * Source: `ModelInfo` in codex-rs/protocol/src/openai_models.rs of https://github.com/openai/codex.
 */
import { Type } from 'typebox'
import type { Model } from '../../domain/model.ts'

/** In place of the instructions that Codex has for models it knows: none is sent with a model of this list. */
const INSTRUCTIONS = [
  'You are a coding agent that works in the terminal of the user, in the folder that the session was started in.',
  'Read the files that matter before you change them; search with `rg` where it is installed.',
  'Make the smallest change that solves the task, in the style of the code around it, and change nothing else.',
  'Keep changes of the user that you did not make. Commit, push or delete only when you are asked to.',
  'Run the tests or commands that show whether the change works, and repair what they find.',
  'Continue until the task is done. Ask only when you cannot find out what is meant.',
  'At the end say in a few sentences what you changed, in which files, and what you could not check.',
].join('\n')

/** Bytes of a tool's output that Codex keeps. */
const OUTPUT_LIMIT = 10_000

const LEVELS = ['low', 'medium', 'high'].map((effort) => ({ effort, description: `${effort} effort` }))

export const CodexModelsSchema = Type.Array(
  Type.Object({ slug: Type.String(), context_window: Type.Integer() }, { additionalProperties: true }),
  { description: 'With `client_version`: the chat models as Codex reads them.' },
)

export function codexModels(models: readonly Model[]) {
  const usable = models.filter(({ kind, capabilities }) => kind === 'chat' && capabilities.function_calling)
  return usable.map(({ id, name, contextWindow, capabilities, ownedBy }, priority) => ({
    slug: id,
    display_name: name,
    description: `${name}, by ${ownedBy}`,
    supported_reasoning_levels: LEVELS,
    shell_type: 'unified_exec',
    visibility: 'list',
    supported_in_api: true,
    priority,
    base_instructions: INSTRUCTIONS,
    supports_reasoning_summaries: false,
    support_verbosity: false,
    truncation_policy: { mode: 'bytes', limit: OUTPUT_LIMIT },
    supports_parallel_tool_calls: true,
    context_window: contextWindow,
    experimental_supported_tools: [],
    input_modalities: capabilities.vision ? ['text', 'image'] : ['text'],
  }))
}
