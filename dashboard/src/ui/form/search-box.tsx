/** A field for searches that cost something: the address, or the gateway, hears of it when there is a pause. */
import { useEffect, useRef, useState } from 'react'
import { SearchField } from './field.tsx'

export interface SearchBoxProps {
  readonly label: string
  readonly placeholder?: string
  readonly value: string
  /** Gets the text without spaces around it. */
  readonly onChange: (value: string) => void
  /** For so long nothing is typed before the text counts, in milliseconds. */
  readonly pauseMs: number
  readonly className?: string
}

export function SearchBox({ value, onChange, pauseMs, ...field }: SearchBoxProps) {
  const [draft, setDraft] = useState(value)
  const sent = useRef(value)
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setDraft(value)
  }, [value])
  useEffect(() => {
    const text = draft.trim()
    if (text === sent.current) return undefined
    const send = () => {
      sent.current = text
      latest.current(text)
    }
    const timer = setTimeout(send, text === '' ? 0 : pauseMs)
    return () => clearTimeout(timer)
  }, [draft, pauseMs])
  return <SearchField {...field} value={draft} onChange={setDraft} />
}
