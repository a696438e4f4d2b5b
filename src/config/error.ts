/** The configuration cannot be used. Each problem is one line: where, which setting, what was found, what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  /** @param problems At least one; none of them shows a secret. */
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}
