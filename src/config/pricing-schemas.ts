/** Settings of a price: rates, what changes them, and fees. */
import { Type } from 'typebox'
import { count, fee, section, text, usd } from './leaf-schemas.ts'

/** Names of service tiers and of tools, as providers write them. */
const NAME = Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' })

const rate = (description: string) => Type.Optional(usd(`USD per million ${description}`))

const INPUT = usd('USD per million prompt tokens.')
const OUTPUT = usd('USD per million completion tokens.')
/** Of every class but the two that each price has. */
const SELDOM_RATES = {
  cached_input_per_million: rate("prompt tokens read from the provider's cache. Not set: as input."),
  cache_write_per_million: rate("prompt tokens written to the provider's cache. Not set: as input."),
  cache_write_1h_per_million: rate('prompt tokens written to the cache for an hour. Not set: as cache_write.'),
  cache_write_12h_per_million: rate('prompt tokens written to the cache for 12 hours. Not set: as cache_write_1h.'),
  audio_input_per_million: rate('prompt tokens of audio. Not set: as input.'),
  cached_audio_input_per_million: rate('prompt tokens of audio read from the cache. Not set: as cached_input.'),
  audio_output_per_million: rate('completion tokens of audio. Not set: as output.'),
  image_output_per_million: rate('completion tokens of images. Not set: as output.'),
  reasoning_output_per_million: rate('completion tokens of reasoning. Not set: as output.'),
}
const OTHER_RATES = {
  input_per_million: Type.Optional(INPUT),
  output_per_million: Type.Optional(OUTPUT),
  ...SELDOM_RATES,
}

const TIERS = Type.Array(
  section(
    {
      above_prompt_tokens: count('What the prompt of one call, cached tokens included, has to exceed.', { minimum: 0 }),
      applies_to: Type.Enum(['request', 'excess'], {
        default: 'request',
        description: "What it prices: the whole request, or the prompt's tokens above the threshold and the output.",
      }),
      ...OTHER_RATES,
    },
    { description: 'One tier; rates that it does not set stay as below the threshold.' },
  ),
  { description: 'Rates of long prompts. The highest tier whose threshold the prompt exceeds applies.' },
)

const SERVICE_TIERS = Type.Record(
  NAME,
  section(
    { ...OTHER_RATES, tiers: Type.Optional(TIERS) },
    { description: "Rates of one service tier; what it does not set is as in the price, the price's tiers included." },
  ),
  { description: 'Rates by the service tier that the answer names, such as `flex` and `priority`.' },
)

const DISCOUNTS = Type.Array(
  section(
    {
      from: text('Time of day (UTC).', 'time-of-day'),
      until: text('Time of day (UTC), not included; before `from`: of the next day.', 'time-of-day'),
      ...OTHER_RATES,
    },
    { description: 'Rates at a time of day; those that it does not set are those of the price.' },
  ),
  { description: 'Rates by the time of day at which a request is admitted. The first that fits applies.' },
)

const TARIFF = {
  input_per_million: INPUT,
  output_per_million: OUTPUT,
  ...SELDOM_RATES,
  tiers: Type.Optional(TIERS),
  service_tiers: Type.Optional(SERVICE_TIERS),
  discounts: Type.Optional(DISCOUNTS),
  per_request_usd: Type.Optional(fee('USD for each call of a provider.')),
  per_image_usd: Type.Optional(fee('USD for each image in the request.')),
  server_tools: Type.Optional(
    Type.Record(NAME, usd('USD per 1,000 uses.'), {
      description: 'USD per 1,000 uses of a tool that the provider runs, such as `web_search`.',
    }),
  ),
  starts: Type.Optional(text('First day (UTC) of the price, or the moment at which it starts.', 'moment')),
  ends: Type.Optional(
    text('Last day (UTC) of the price, or the moment at which it ends. Not set: until its successor.', 'moment'),
  ),
}

export const PRICING_SCHEMA = section(
  {
    ...TARIFF,
    successors: Type.Optional(
      Type.Array(section(TARIFF, { description: 'One price that is announced.' }), {
        description: 'Prices to come, in order; each starts at its `starts`, else when the one before it ends.',
      }),
    ),
  },
  { description: 'Price; null: not known, and then the model may not be called.' },
)
