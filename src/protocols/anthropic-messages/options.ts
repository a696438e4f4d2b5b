/** What differs between the hosts that speak this format. */
import type { ModelTraits } from './models.ts'

export interface AnthropicMessagesOptions {
  /** What a model takes, by the provider's own name of it; the maker's own models unless said. */
  readonly traitsOf?: (model: string) => ModelTraits
}
