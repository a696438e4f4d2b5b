/** How much of anything a step may take. All of it is in docs/limits.md. */

/** Of a command's output, to the model; `DEFAULT_OUTPUT_BYTES` where it does not ask for more. */
export const MAX_OUTPUT_BYTES = 65_536
export const DEFAULT_OUTPUT_BYTES = 16_384
/** A small window is not filled by one output: this part of it at most. */
export const OUTPUT_PART_OF_WINDOW = 1 / 8

export const DEFAULT_COMMAND_MS = 120_000
export const MAX_COMMAND_MS = 600_000
/** Viewing, editing, searching. */
export const FILE_COMMAND_MS = 60_000

/** A larger file is not edited by exact replacement: as base64 it would not fit into what is kept of an output. */
export const MAX_EDIT_BYTES = 700_000
export const MAX_PATH_BYTES = 1_024
export const MAX_PATTERN_BYTES = 4_096
/** A sandbox hands a script on as one argument of a program, for which the kernel has a limit. */
export const MAX_SCRIPT_BYTES = 65_536
/** Of one call, as JSON. */
export const MAX_ARGUMENT_BYTES = 262_144
/** Of one answer; more are not run. */
export const MAX_CALLS = 16
/** Of the text of an answer or of a user's message; and of a run's summary. */
export const MAX_TEXT_BYTES = 262_144
export const MAX_SUMMARY_BYTES = 16_384

/** Of one call of the model, unless it can give less. More is a heavier hold on the account's credit. */
export const MAX_ANSWER_TOKENS = 16_384
export const ANSWER_PART_OF_WINDOW = 1 / 4
/** Of what the window leaves beside the answer: from here on the conversation is made shorter. */
export const FULL_PART_OF_WINDOW = 0.75

/** Of a conversation that is compacted, as estimated. */
export const MAX_COMPACTED_BYTES = 67_108_864

/** Failed calls of the model in a row. */
export const MAX_FAILURES = 5
export const MAX_WAIT_MS = 60_000
/** The same call with the same failure: from here on a hint, at last the end. */
export const HINT_AFTER_REPEATS = 5
export const MAX_REPEATS = 10
/** Answers in a row that bring the work no further: empty ones, cut ones, filtered ones. */
export const MAX_IDLE_ANSWERS = 3
/** Commands in a row that were killed because the workspace is full. */
export const MAX_FULL_WORKSPACE = 3
