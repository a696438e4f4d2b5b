/** Typed values in the storage of this browser. Where storage is unavailable or full, a value lasts as long as the page. */

export interface BrowserStore<Value> {
  /** The same object as long as the stored text is the same, as `useSyncExternalStore` requires. Never throws. */
  readonly read: (id?: string) => Value
  readonly write: (value: Value, id?: string) => void
  /** Also called when another tab writes. */
  readonly subscribe: (notify: () => void) => () => void
}

export interface StoreOptions<Value> {
  /** The key is `turnpike.<name>`, with the version from 2 on, then the id if there is one. */
  readonly name: string
  /** For keys that are older than this scheme. */
  readonly keyOf?: (id: string) => string
  /** Raised when older values cannot be read any more; they are then ignored. */
  readonly version?: number
  /** Default: `localStorage`. Access throws where the browser denies it. */
  readonly area?: () => Storage
  /** Another version or a person may have written the text. What throws is read as null, which means that nothing is stored. */
  readonly parse: (text: string | null) => Value
  /** Null: nothing is stored. */
  readonly render: (value: Value) => string | null
}

interface Cached<Value> {
  readonly text: string | null
  readonly value: Value
}

export function createStore<Value>(options: StoreOptions<Value>): BrowserStore<Value> {
  const { name, version = 1, area = () => localStorage, parse, render } = options
  const prefix = `turnpike.${name}${version === 1 ? '' : `.v${version}`}`
  const keyOf = (id: string | undefined): string =>
    id === undefined ? prefix : (options.keyOf?.(id) ?? `${prefix}.${id}`)
  const cache = new Map<string, Cached<Value>>()
  const unsaved = new Map<string, string | null>()
  const listeners = new Set<() => void>()
  const textAt = (key: string): string | null => {
    const text = unsaved.get(key)
    return text === undefined ? attempt(() => area().getItem(key), null) : text
  }
  return {
    read(id) {
      const key = keyOf(id)
      const text = textAt(key)
      const known = cache.get(key)
      if (known?.text === text) return known.value
      const value = attempt(() => parse(text), undefined) ?? parse(null)
      cache.set(key, { text, value })
      return value
    },
    write(value, id) {
      const key = keyOf(id)
      const text = render(value)
      const isSaved = attempt(() => {
        if (text === null) area().removeItem(key)
        else area().setItem(key, text)
        return true
      }, false)
      if (isSaved) unsaved.delete(key)
      else unsaved.set(key, text)
      for (const notify of listeners) notify()
    },
    subscribe(notify) {
      listeners.add(notify)
      addEventListener('storage', notify)
      return () => {
        listeners.delete(notify)
        removeEventListener('storage', notify)
      }
    },
  }
}

/** A store of one of several words; anything else is read as the first one, which is not stored. */
export function createChoiceStore<Choice extends string>(
  name: string,
  choices: readonly [Choice, ...Choice[]],
): BrowserStore<Choice> {
  const [initial] = choices
  return createStore<Choice>({
    name,
    parse: (text) => choices.find((choice) => choice === text) ?? initial,
    render: (choice) => (choice === initial ? null : choice),
  })
}

function attempt<Result>(action: () => Result, fallback: Result): Result {
  try {
    return action()
  } catch {
    return fallback
  }
}
