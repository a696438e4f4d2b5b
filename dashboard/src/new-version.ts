/** Reloads the page after an upgrade of the gateway, when files of the open page are gone; at most once in 30 seconds. */
import { createStore } from './lib/browser-store.ts'

const INTERVAL_MS = 30_000
const lastReload = createStore<number>({
  name: 'reloaded_at',
  area: () => sessionStorage,
  parse: Number,
  render: String,
})

export function reloadOnNewVersion(): void {
  addEventListener('vite:preloadError', (event) => {
    if (Date.now() - lastReload.read() < INTERVAL_MS) return
    event.preventDefault()
    lastReload.write(Date.now())
    location.reload()
  })
}
