/**
 * The client's side of the chat-completions format: requests in, answers out, whole and streamed. Pure; it must not
 * know providers, HTTP, or what a request costs.
 */
export { type Answer, type AnswerHead, createAnswer } from './json.ts'
export { parseChatRequest } from './request.ts'
export { createStreamRenderer, type StreamFault, type StreamHead, type StreamRenderer } from './stream.ts'
export { type Bill, type CountedUsage, renderUsage } from './usage.ts'
