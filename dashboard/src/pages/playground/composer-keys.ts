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

/** Of what is around the field that the message is typed in. */
export const MESSAGE_ID = 'playground-message'

export function focusMessage(): void {
  document.getElementById(MESSAGE_ID)?.querySelector('textarea')?.focus()
}
