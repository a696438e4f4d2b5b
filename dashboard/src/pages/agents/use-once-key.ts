import { useRef } from 'react'

/**
 * An `Idempotency-Key` for what is about to be sent: the same one for the same body, so that a second press, or another try
 * after an answer that was lost, does nothing twice.
 */
export function useOnceKey(): { readonly keyFor: (body: object) => string; readonly forget: () => void } {
  const last = useRef<{ readonly text: string; readonly key: string }>(undefined)
  return {
    keyFor(body) {
      const text = JSON.stringify(body)
      if (last.current?.text !== text) last.current = { text, key: randomKey() }
      return last.current.key
    },
    /** It is done: the same once more would be meant. */
    forget() {
      last.current = undefined
    },
  }
}

/** Also where the page is not from a secure address, which `crypto.randomUUID` asks for. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
