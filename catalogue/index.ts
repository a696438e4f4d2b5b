import { ANTHROPIC } from './anthropic.ts'
import type { CatalogueEntry } from './entry.ts'
import { GOOGLE } from './google.ts'
import { OPEN_WEIGHT } from './open-weight.ts'
import { OPENAI } from './openai.ts'
import { SIMULATOR } from './simulator.ts'
import { XAI } from './xai.ts'

export type { CatalogueDeployment, CatalogueEntry, CataloguePricing } from './entry.ts'

/** Every model that Turnpike knows by itself, whether a provider of it is configured or not. */
export const CATALOGUE: readonly CatalogueEntry[] = [
  ...ANTHROPIC,
  ...OPENAI,
  ...GOOGLE,
  ...OPEN_WEIGHT,
  ...XAI,
  ...SIMULATOR,
]
