/** Hands the person a file that was made here. Only browsers can. */
export function downloadText(name: string, mime: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: mime }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  document.body.append(link)
  link.click()
  link.remove()
  // Browsers read the address after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
