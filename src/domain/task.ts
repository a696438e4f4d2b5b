/**
 * Requests other than conversations: embeddings, rankings and legacy completions. Each is a `ChatRequest` whose
 * messages are its texts, so that one pipeline limits, holds, routes, meters and charges all of them. The task has
 * their special fields.
 */

/** A sequence of numbers, or the base64 of its 32-bit floats, little-endian. */
export type Vector = readonly number[] | string

export interface EmbeddingTask {
  readonly type: 'embedding'
  /** Texts, or token IDs of the model's own tokenizer, in order. */
  readonly inputs: readonly (string | readonly number[])[]
  readonly dimensions?: number
  /** Absent if the client omitted it, so that its vectors are numbers. */
  readonly encodingFormat?: 'float' | 'base64'
}

export interface RerankTask {
  readonly type: 'rerank'
  readonly query: string
  readonly documents: readonly string[]
  /** The number of best results to return. Absent returns all. */
  readonly topN?: number
  /** Whether results contain the text of their documents. */
  readonly returnDocuments: boolean
}

/** The rank of one document. */
export interface RankedDocument {
  /** Position in the request's documents. */
  readonly index: number
  readonly score: number
}

/** Legacy completion: the prompt is the request's only message. */
export interface CompletionTask {
  readonly type: 'completion'
  readonly prompt: string
  /** The text after the completion, which the model fills in. */
  readonly suffix?: string
}

export type Task = EmbeddingTask | RerankTask | CompletionTask

/** Returns whether the answer is generated text; otherwise it has no output tokens. */
export function generatesText(task: Task | undefined): boolean {
  return task === undefined || task.type === 'completion'
}

/** The texts that the model reads separately: its context window applies to each. */
export function inputCount(task: Task | undefined): number {
  if (task?.type === 'embedding') return task.inputs.length
  return task?.type === 'rerank' ? task.documents.length : 1
}

/** The request field that has the texts, for error messages. */
export function textParam(task: Task | undefined): string {
  switch (task?.type) {
    case undefined:
      return 'messages'
    case 'embedding':
      return 'input'
    case 'rerank':
      return 'documents'
    case 'completion':
      return 'prompt'
  }
}

/** Returns the number of tokens that the client sends as token IDs. */
export function tokenIdCount({ inputs }: EmbeddingTask): number {
  let tokens = 0
  for (const input of inputs) if (typeof input !== 'string') tokens += input.length
  return tokens
}
