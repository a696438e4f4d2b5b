/** The part of `autocannon` that the bench uses; the package brings no types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly connections: number
    /** Seconds. */
    readonly duration: number
    /** The number of requests after which it ends, instead of `duration`. */
    readonly amount?: number
    /** Seconds. */
    readonly timeout: number
    /** Milliseconds. */
    readonly sampleInt: number
    /** The number of requests after which a connection is reopened. */
    readonly reconnectRate: number
  }
  interface Result {
    readonly '2xx': number
    readonly non2xx: number
    readonly errors: number
    readonly timeouts: number
    readonly duration: number
    readonly requests: { readonly total: number; readonly average: number }
    /** Milliseconds. */
    readonly latency: { readonly p50: number; readonly p99: number }
  }
  function autocannon(options: Options): PromiseLike<Result>
  export = autocannon
}
