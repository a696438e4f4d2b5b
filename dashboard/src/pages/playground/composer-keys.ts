/** What of a keyboard event is looked at. */
interface Keys {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
}

/** Ctrl or Cmd with Enter sends what is typed. */
export function isSendKey({ key, ctrlKey, metaKey }: Keys): boolean {
  return key === 'Enter' && (ctrlKey || metaKey)
}
