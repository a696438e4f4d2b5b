import { useEffect, useRef } from 'react'
import { announce } from '../../../ui/announcer.tsx'
import type { Provider } from './queries.ts'

/** Says which providers have come into another state since the list was last there. */
export function useAnnouncedStates(providers: readonly Provider[]): void {
  const before = useRef<ReadonlyMap<string, Provider['status']>>(new Map())
  useEffect(() => {
    const known = before.current
    before.current = new Map(providers.map(({ id, status }) => [id, status]))
    const changed = providers.filter(({ id, status }) => known.has(id) && known.get(id) !== status)
    if (changed.length > 0) announce(changed.map(({ name, status }) => `${name} is ${status}`).join(', '))
  }, [providers])
}
