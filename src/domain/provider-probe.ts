/** What a trial call to a provider came to: for the doctor of the command line, and for operators who test one. */
export type ProviderProbe =
  /** There is nobody to call. */
  | { readonly kind: 'built_in' }
  /** Nothing was sent: it has no key, and `variable` of the environment would have been one. */
  | { readonly kind: 'no_key'; readonly variable: string }
  /** Nothing was sent: the machine, a file or a token service gave no credential. */
  | { readonly kind: 'no_credential' }
  /**
   * `answered`: somebody is there, and did not refuse the key. `refused`: not with this key. `limited`: not now.
   * `failing`: something is wrong on its side.
   */
  | { readonly kind: 'answered' | 'refused' | 'limited' | 'failing'; readonly status: number }
  /** No answer in time. */
  | { readonly kind: 'silent' }
  /** @property reason In one word, without anything of the call: `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly reason: string }
