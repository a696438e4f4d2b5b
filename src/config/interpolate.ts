/** `$${` first: it is the way to write the reference itself. */
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME_AND_DEFAULT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

export interface Interpolated {
  readonly text: string
  /** Whether anything came from outside. */
  readonly filled: boolean
  /** What is wrong with the references, one sentence each. */
  readonly problems: readonly string[]
}

/**
 * Fills `${NAME}` and `${NAME:-default}` in a text; `$${` is a literal `${`.
 * The default is taken when the variable is unset or empty; it cannot contain `}`.
 */
export function interpolate(text: string, variable: (name: string) => string | undefined): Interpolated {
  const problems: string[] = []
  let filled = false
  const result = text.replace(REFERENCE, (match: string, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return '${'
    const [, name, standard] = (end === '}' ? NAME_AND_DEFAULT.exec(inside) : null) ?? []
    if (name === undefined) {
      problems.push(`found the reference ${JSON.stringify(match)}, allowed: \${NAME} or \${NAME:-default}`)
      return ''
    }
    filled = true
    const value = variable(name)
    if (standard !== undefined) return value === undefined || value === '' ? standard : value
    if (value === undefined) {
      problems.push(
        `found \${${name}}, but ${name} is not set in the environment; set it, or write \${${name}:-default}`,
      )
    }
    return value ?? ''
  })
  return { text: result, filled, problems }
}
