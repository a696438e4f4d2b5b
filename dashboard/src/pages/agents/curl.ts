/** The same call for a terminal. Pure. */

/**
 * @param origin Of the gateway, without a slash at its end.
 * @param indent Of the body's fields, each on a line of its own; 0: all on one.
 */
export function createCommand(origin: string, body: object, indent = 0): string {
  return [
    `curl ${origin}/v1/agents \\`,
    '  -H "Authorization: Bearer $TURNPIKE_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoted(JSON.stringify(body, null, indent))}`,
  ].join('\n')
}

/** In single quotes, in which a shell reads nothing but the quote that ends them. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
