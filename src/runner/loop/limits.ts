/** Limits of a step, as listed in docs/limits.md. */

/** Maximum output of a command for the model; `DEFAULT_OUTPUT_BYTES` unless the call requests more. */
export const MAX_OUTPUT_BYTES = 65_536
export const DEFAULT_OUTPUT_BYTES = 16_384
/** Maximum share of a small context window that one output fills. */
export const OUTPUT_PART_OF_WINDOW = 1 / 8

export const DEFAULT_COMMAND_MS = 120_000
export const MAX_COMMAND_MS = 600_000
/** Time limit of viewing, editing and searching. */
export const FILE_COMMAND_MS = 60_000

/** Larger files cannot be edited by exact replacement: their base64 would exceed the kept output. */
export const MAX_EDIT_BYTES = 700_000
export const MAX_PATH_BYTES = 1_024
export const MAX_PATTERN_BYTES = 4_096
/** A script is passed to the sandbox as one argument, whose size the kernel limits. */
export const MAX_SCRIPT_BYTES = 65_536
/** Maximum arguments of a call, as JSON. */
export const MAX_ARGUMENT_BYTES = 262_144
/** Maximum calls of an answer; further ones are not executed. */
export const MAX_CALLS = 16
/** Maximum text of an answer or of a user's message, and of a run's summary. */
export const MAX_TEXT_BYTES = 262_144
export const MAX_SUMMARY_BYTES = 16_384

/** Output limit of a model call, unless the model's own is lower. A higher one increases the hold on the account's credit. */
export const MAX_ANSWER_TOKENS = 16_384
export const ANSWER_PART_OF_WINDOW = 1 / 4
/** Share of the window without the answer at which the conversation is compacted. */
export const FULL_PART_OF_WINDOW = 0.75

/** Maximum estimated size of a conversation to compact. */
export const MAX_COMPACTED_BYTES = 67_108_864

/** Consecutive failed model calls. */
export const MAX_FAILURES = 5
export const MAX_WAIT_MS = 60_000
/** Repetitions of a call with the same failure: first a hint, then the end. */
export const HINT_AFTER_REPEATS = 5
export const MAX_REPEATS = 10
/** Consecutive answers without usable output: empty, truncated or filtered. */
export const MAX_IDLE_ANSWERS = 3
/** Consecutive commands that were killed because the workspace was full. */
export const MAX_FULL_WORKSPACE = 3
