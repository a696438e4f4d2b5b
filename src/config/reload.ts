import { ConfigError } from './error.ts'
import type { Config } from './schema.ts'

/**
 * The configuration after a reload: providers, models, plans and routing of `next`, all else as it was started with.
 * Throws `ConfigError` if the plan that new accounts get is gone, which only a restart can mend.
 */
export function reloadable(previous: Config, next: Config): Config {
  const { providers, models, plans, routing } = next
  const plan = previous.accounts.default_plan
  if (plans[plan] === undefined) {
    throw new ConfigError([
      `plans: found no plan ${JSON.stringify(plan)}, which accounts.default_plan of the running service names; keep it, or restart`,
    ])
  }
  return Object.freeze({ ...previous, providers, models, plans, routing })
}
