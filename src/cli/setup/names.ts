/** The clients that `turnpike setup` knows; apart from their settings, which only that command loads. */
export const CLIENT_NAMES = ['claude', 'codex', 'opencode', 'aider'] as const
export type ClientName = (typeof CLIENT_NAMES)[number]
