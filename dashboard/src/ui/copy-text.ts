/** Puts text on the clipboard, also where the page is not from a secure address. Rejects when the browser refuses. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true
  area.style.position = 'fixed'
  area.style.opacity = '0'
  // inside an open dialog, nothing outside of it can be focused
  const host = document.activeElement?.closest('[role="dialog"],[role="alertdialog"]') ?? document.body
  const focused = document.activeElement
  host.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  if (!copied) throw new Error('The browser does not let this page copy.')
}
