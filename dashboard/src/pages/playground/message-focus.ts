/** Of what is around the field that the message is typed in. */
export const MESSAGE_ID = 'playground-message'

export function focusMessage(): void {
  document.getElementById(MESSAGE_ID)?.querySelector('textarea')?.focus()
}
