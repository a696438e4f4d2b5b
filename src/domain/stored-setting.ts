/** Models and providers that operators change at run time, which are stored in the database. */

export const STORED_KINDS = ['model', 'provider'] as const
export type StoredKind = (typeof STORED_KINDS)[number]

/** One entry of `models` or `providers` of the configuration, as it was sent. */
export interface StoredEntry {
  readonly kind: StoredKind
  /** ID of the model, or name of the provider. */
  readonly name: string
  /** The settings as in the file; those of a model without its `id`. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** Settings of a provider that are sealed in the database and never shown. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set(['api_key', 'api_keys'])
