import { ALIBABA } from './alibaba.ts'
import { AMAZON } from './amazon.ts'
import { ANTHROPIC } from './anthropic.ts'
import { withDataHandling } from './data-handling.ts'
import { DEEPSEEK } from './deepseek.ts'
import type { CatalogueEntry } from './entry.ts'
import { GOOGLE } from './google.ts'
import { MISTRAL } from './mistral.ts'
import { MOONSHOT } from './moonshot.ts'
import { OPEN_WEIGHT } from './open-weight.ts'
import { OPENAI } from './openai.ts'
import { PERPLEXITY } from './perplexity.ts'
import { RETRIEVAL } from './retrieval.ts'
import { SIMULATOR } from './simulator.ts'
import { XAI } from './xai.ts'
import { ZAI } from './zai.ts'

export type { CatalogueDeployment, CatalogueEntry, CataloguePricing } from './entry.ts'

/** Every model that Turnpike knows by itself, whether a provider of it is configured or not. */
export const CATALOGUE: readonly CatalogueEntry[] = withDataHandling([
  ...ANTHROPIC,
  ...OPENAI,
  ...GOOGLE,
  ...DEEPSEEK,
  ...MISTRAL,
  ...XAI,
  ...MOONSHOT,
  ...ZAI,
  ...ALIBABA,
  ...PERPLEXITY,
  ...AMAZON,
  ...OPEN_WEIGHT,
  ...RETRIEVAL,
  ...SIMULATOR,
])
