import { type RefObject, useCallback, useRef, useState } from 'react'
import { useCan } from '../../api/me.ts'

/** What is being written to the agent, which other parts of the page may put a text into. */
export interface FollowUpMessage {
  readonly box: RefObject<HTMLElement | null>
  readonly prompt: string
  readonly setPrompt: (prompt: string) => void
  /** Puts a message into the box, to be changed or sent as it is. Undefined for who may not write. */
  readonly askAgain: ((prompt: string) => void) | undefined
}

export function useFollowUpMessage(): FollowUpMessage {
  const mayWrite = useCan('agents:write')
  const [prompt, setPrompt] = useState('')
  const box = useRef<HTMLElement>(null)
  const askAgain = useCallback((text: string) => {
    setPrompt(text)
    box.current?.querySelector('textarea')?.focus()
  }, [])
  return { box, prompt, setPrompt, askAgain: mayWrite ? askAgain : undefined }
}
