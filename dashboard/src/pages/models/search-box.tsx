import { useEffect, useRef, useState } from 'react'
import { SearchField } from '../../ui/field.tsx'

const PAUSE_MS = 120

export interface SearchBoxProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** What is typed is seen at once, and goes into the address when there is a pause, without spaces around it. */
export function SearchBox({ value, onChange }: SearchBoxProps) {
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
    const timer = setTimeout(() => {
      sent.current = text
      latest.current(text)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [draft])
  return (
    <SearchField
      label="Search models"
      placeholder="Search by name, ID or maker"
      value={draft}
      onChange={setDraft}
      className="w-full sm:w-72"
    />
  )
}
