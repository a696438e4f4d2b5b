/** The models that can be asked, and how they are chosen from. */
import { isRetired, type ListedModel } from '../../api/models.ts'
import { formatCompact, formatPrice } from '../../lib/format.ts'
import type { ComboboxOption } from '../../ui/form/combobox.tsx'

export type CallableModel = Pick<
  ListedModel,
  | 'id'
  | 'deprecation_date'
  | 'capabilities'
  | 'supported_parameters'
  | 'context_window'
  | 'max_output_tokens'
  | 'pricing'
  | 'owned_by'
>

/**
 * What has no price cannot be called; what has another name is listed once. Retired models are last.
 * @param now Unix milliseconds.
 */
export function callableModels(listed: readonly ListedModel[], now: number): readonly ListedModel[] {
  return listed
    .filter(({ pricing, kind }) => pricing !== null && kind === 'chat')
    .toSorted((one, other) => Number(isRetired(one, now)) - Number(isRetired(other, now)))
}

/** @param now Unix milliseconds. */
export function modelOption(model: CallableModel, now: number): ComboboxOption {
  const { id, pricing } = model
  const isFolded = isRetired(model, now)
  const hint = pricing === null ? undefined : `${pricesText(pricing)} per 1M`
  return { value: id, label: id, hint: isFolded ? 'retired' : hint, isFolded }
}

function pricesText({
  input_per_million: input,
  output_per_million: output,
}: NonNullable<ListedModel['pricing']>): string {
  return `${formatPrice(input)} / ${formatPrice(output)}`
}

/** What is good to know before asking it: `$0.10 / $0.40 per 1M tokens in / out · 128K context · reads images`. */
export function factsOf({ pricing, capabilities, context_window: context }: CallableModel): string {
  const facts = [
    pricing !== null && `${pricesText(pricing)} per 1M tokens in / out`,
    `${formatCompact(context)} context`,
    capabilities.vision && 'reads images',
    capabilities.function_calling && 'calls tools',
    capabilities.json_mode && 'answers in JSON',
  ]
  return facts.filter((fact) => fact !== false).join(' · ')
}

const SIMULATOR = 'turnpike-simulator'

/** What nobody has chosen anything of: what was used last, the one that costs no real money, or the first. */
export function defaultModels(models: readonly CallableModel[], lastUsed: readonly string[]): readonly string[] {
  const known = lastUsed.filter((id) => models.some((model) => model.id === id))
  if (known.length > 0) return known
  const simulator = models.find(({ id }) => id === SIMULATOR)
  const first = simulator ?? models[0]
  return first === undefined ? [''] : [first.id]
}

/** The largest that any of them can be asked for; undefined where that is not known. */
export function longestAnswer(models: readonly CallableModel[]): number | undefined {
  const known = models.map(({ max_output_tokens: most }) => most).filter((most) => most !== null)
  return known.length === 0 || known.length < models.length ? undefined : Math.max(...known)
}
