/** Programs that may ask for tokens. All are public: whoever reads one finds its id, so an id proves nothing. */

export interface OAuthClient {
  readonly id: string
  /** Shown to the person who approves. */
  readonly name: string
}

const BUILT_IN: readonly OAuthClient[] = [
  { id: 'turnpike-cli', name: 'Turnpike command line' },
  { id: 'turnpike-ide', name: 'Turnpike for IDEs' },
]

export interface OAuthClients {
  find(id: string): OAuthClient | undefined
  /** The id itself where the client is no longer configured. */
  nameOf(id: string): string
}

/** @param configured Beside those that are built in; one of the same id takes its place. */
export function createClients(configured: readonly OAuthClient[]): OAuthClients {
  const clients = new Map([...BUILT_IN, ...configured].map((client) => [client.id, client]))
  return { find: (id) => clients.get(id), nameOf: (id) => clients.get(id)?.name ?? id }
}
