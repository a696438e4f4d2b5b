/** Performance budgets. `npm run bench` reports for each whether it holds; `--guard` allows 15 % more of the first three. */
export const BUDGETS = {
  /** CPU of a whole answer against the bare forwarder, by the number of requests in flight. */
  jsonCpuRatio: { 1: 4, 32: 2.5, 256: 2.5 },
  /** CPU of a streamed chunk against the bare forwarder, which parses and serialises each. */
  chunkCpuRatio: 1.3,
  /** Added to the first byte at half of saturation, milliseconds. */
  addedFirstByteP50Ms: 2,
  /** Twice the p99 of fsync in the same run is allowed on top, milliseconds. */
  addedFirstByteP99Ms: 10,
  idleStreamKib: 40,
  startRssMib: 120,
  /** Between the 100 000th and the last request of `--soak`; garbage collection makes it vary. */
  soakGrowthMib: 16,
  readyMs: 700,
  /** KEY-4: time until all processes reject a key that one process revoked, milliseconds. */
  revokedMs: 1_000,
  /** OVL-4: p99 of an account beside another one at ten times its rate limit, as a ratio. */
  crowdedP99Ratio: 1.2,
  /** The p99 of an account beside another that sends hostile bodies, milliseconds. */
  hostileP99Ms: 200,
  /** Resident memory with a heap of 1 GiB: the heap, and half as much for bodies and threads outside it. */
  hostilePeakMib: 1536,
  /** p99 of chats beside users of the dashboard, as a ratio. */
  dashboardP99Ratio: 1.1,
  /** Time until a view of Usage or Requests has loaded, with a million completions, milliseconds. */
  dashboardQueryP95Ms: 300,
  /** A report by a tag with a million values in a month, milliseconds. */
  tagReportP50Ms: 300,
  /** Content of a page of the dashboard in a browser, with a million requests; on a quiet machine. */
  pageContentMs: 500,
  pageInteractionMs: 100,
  /** CPU of a whole answer with every request traced against none, 64 in flight. */
  tracingCpuRatio: 1.1,
  /** The same of guardrails and content capture that are off: nothing, within what two equal processes differ. */
  unusedCpuRatio: 1.03,
  /** CPU to route a request among 500 candidates. */
  routingMicroseconds: 10,
  /** While weights shift by reloads. */
  canaryDropped: 0,
  /** 500 requests a second, less 5 %. */
  canaryIntervalMs: 2.1,
} as const
