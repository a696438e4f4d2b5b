/**
 * What the data plane needs of the connection to a client; `http/` gives it. Methods and no getters: an object literal
 * with a getter gets a hidden class of its own, which lives, with all that hangs on it, until the next full collection.
 */
export interface ClientConnection {
  /** Called once when the client goes away before its answer is whole; at once if it already has. */
  onLeave(listener: () => void): void
  /** Whether the head of an event stream is out, so that errors must be told in the stream. */
  streaming(): boolean
  /**
   * An event stream is to come. Its head waits for the first write or for 10 s of silence, and from then on every
   * silence of 10 s is filled with a comment.
   */
  expectStream(headers: () => Record<string, string>): void
  /** @returns undefined, or a promise to be awaited because the client reads more slowly than we write. */
  write(text: string): Promise<void> | undefined
  endStream(): void
  sendJson(body: string, headers: Record<string, string>): void
}
