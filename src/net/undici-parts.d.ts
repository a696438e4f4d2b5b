/**
 * Files of undici that are imported by themselves. The package's own entry also loads `fetch`, WebSockets, caches and mocks,
 * 3 MiB of objects and 80 ms of CPU at a start: what seldom runs imports it when it does.
 */
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'
  export = buildConnector
}
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici'
  export = Agent
}
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'
  export = Pool
}
