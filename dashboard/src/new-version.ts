/** After an upgrade of the gateway the files of the page that is open are gone: it is loaded anew, and not over and over. */
const LAST = 'turnpike.reloaded_at'
const ONCE_IN_MS = 30_000

export function reloadOnNewVersion(): void {
  addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(LAST))
    if (Date.now() - last < ONCE_IN_MS) return
    event.preventDefault()
    sessionStorage.setItem(LAST, String(Date.now()))
    location.reload()
  })
}
